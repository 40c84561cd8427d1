//! Lines of an access log, as web servers write them by default.

use memchr::{memchr, memchr_iter};

use super::Malformed;
use super::selector::{Fields, closing_quote, split_around};

/// A field of an access log by which requests can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogField {
    /// The client.
    Ip,
    /// The user, as authenticated.
    User,
    /// The request's method.
    Method,
    /// The request's path, without its query.
    Path,
    /// The agent, of the combined format.
    Agent,
    /// The virtual host, without its port.
    Host,
}

impl LogField {
    pub(crate) const NAMES: [(&str, LogField); 6] = [
        ("ip", LogField::Ip),
        ("user", LogField::User),
        ("method", LogField::Method),
        ("path", LogField::Path),
        ("agent", LogField::Agent),
        ("host", LogField::Host),
    ];
}

/// A line in the common log format, `client ident user [time] "request" status bytes`. The combined
/// format goes on with `"referer" "agent"`; either may have `vhost:port` in front.
#[derive(Debug)]
pub(crate) struct AccessLine<'l> {
    host: Option<&'l [u8]>,
    client: &'l [u8],
    user: &'l [u8],
    pub(crate) time: &'l [u8],
    request: &'l [u8],
    /// What follows the bytes: nothing, or the referer and the agent.
    rest: &'l [u8],
}

impl<'l> AccessLine<'l> {
    pub(crate) fn parse(line: &'l [u8]) -> Result<Self, Malformed> {
        const WHO: Malformed = Malformed("expected `client ident user` before the [time]");
        // A user may hold anything, but hardly ` [`; a bracket without the space is an IPv6 address.
        let open = memchr_iter(b'[', line).find(|at| line[..*at].ends_with(b" "));
        let open = open.ok_or(Malformed("no [time]: expected the common or combined log format"))?;
        let (who, from_time) = split_around(line, Some(open));
        let close = memchr(b']', from_time).ok_or(Malformed("the [time] is not closed"))?;
        let (time, after) = split_around(from_time, Some(close));

        let (first, more) = split_around(who, Some(memchr(b' ', who).ok_or(WHO)?));
        let (second, user) = split_around(more, Some(memchr(b' ', more).ok_or(WHO)?));
        let user = user.trim_ascii_end();
        // Four words are those of a virtual host, or those of a user with a space in the name: then the
        // second one is the ident, which no server of today looks up.
        let (host, client, user) = match memchr(b' ', user) {
            Some(space) if second != b"-" => (Some(first), second, &user[space + 1..]),
            _ => (None, first, user),
        };
        if client.is_empty() || user.is_empty() {
            return Err(WHO);
        }
        let (request, rest) = request_and_rest(after)?;
        Ok(Self { host, client, user, time, request, rest })
    }

    pub(crate) fn field(&self, field: LogField) -> Result<&'l [u8], Malformed> {
        let mut words = self.request.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        match field {
            LogField::Ip => Ok(self.client),
            LogField::User => Ok(self.user),
            LogField::Method => words.next().ok_or(Malformed("the request has no method")),
            LogField::Path => {
                let target = words.nth(1).ok_or(Malformed("the request has no path"))?;
                Ok(split_around(target, memchr(b'?', target)).0)
            }
            LogField::Agent => {
                Fields::of(self.rest).nth(1).ok_or(Malformed("no agent: expected the combined log format"))
            }
            LogField::Host => {
                let host = self.host.ok_or(Malformed("no virtual host: expected `vhost:port` first"))?;
                Ok(without_port(host))
            }
        }
    }
}

/// Takes ` "request" status bytes` off the front.
fn request_and_rest(text: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let quoted = text.strip_prefix(b" \"").ok_or(Malformed("expected a \"request\" after the [time]"))?;
    let close = closing_quote(quoted).ok_or(Malformed("the \"request\" is not closed"))?;
    let (request, figures) = split_around(quoted, Some(close));
    let figures = figures.trim_ascii_start();
    let (status, figures) = split_around(figures, memchr(b' ', figures));
    let (bytes, rest) = split_around(figures, memchr(b' ', figures));
    if !is_number(status) || !(is_number(bytes) || bytes == b"-") {
        return Err(Malformed("expected the status and the bytes after the \"request\""));
    }
    Ok((request, rest))
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|byte| *byte == b':') {
        Some(colon) if is_number(&host[colon + 1..]) => &host[..colon],
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(line: &str, field: LogField) -> Result<String, String> {
        let value = AccessLine::parse(line.as_bytes()).and_then(|line| line.field(field));
        value.map(|value| String::from_utf8_lossy(value).into_owned()).map_err(|error| error.0.to_owned())
    }

    const COMBINED: &str =
        r#"::1 - ann lee [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 5 "-" "Bot \"1\"""#;
    const VHOST: &str =
        r#"[2001:db8::1]:443 9.9.9.9 - bob [17/May/2015:10:05:03 +0000] "PUT / HTTP/2" 304 -"#;

    #[test]
    fn each_field_of_the_combined_format() {
        let get = |name| field(COMBINED, name).unwrap();
        assert_eq!(get(LogField::Ip), "::1");
        assert_eq!(get(LogField::User), "ann lee");
        assert_eq!(get(LogField::Method), "GET");
        assert_eq!(get(LogField::Path), "/a");
        assert_eq!(get(LogField::Agent), r#"Bot \"1\""#);
        assert!(field(COMBINED, LogField::Host).is_err());
    }

    #[test]
    fn a_virtual_host_comes_first() {
        let get = |name| field(VHOST, name).unwrap();
        assert_eq!(get(LogField::Host), "[2001:db8::1]");
        assert_eq!(get(LogField::Ip), "9.9.9.9");
        assert_eq!(get(LogField::User), "bob");
        assert!(field(VHOST, LogField::Agent).is_err());
    }

    #[test]
    fn a_cut_agent_is_still_a_record_but_a_cut_request_is_not() {
        let cut = |len: usize| field(&COMBINED[..len], LogField::Agent);
        assert_eq!(cut(COMBINED.len() - 5).unwrap(), "Bot \\");
        let request_end = COMBINED.find(" 200").unwrap();
        assert_eq!(cut(request_end - 1).unwrap_err(), "the \"request\" is not closed");
        assert!(cut(request_end).unwrap_err().starts_with("expected the status"));
    }
}

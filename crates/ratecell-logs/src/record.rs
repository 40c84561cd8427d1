//! A request of a log.

use std::borrow::Cow;

use memchr::memchr;

use crate::client::host;
use crate::json::Object;
use crate::text::{
    LooseWords, Mark, Text, is_none, part, rsplit_once, some, split_once, trim_end, trim_start,
};
use crate::time::Time;

/// A request of a log: when it was, and what the log says of it.
///
/// A field without a value is `None`; `-` and nothing are no values.
#[derive(Debug)]
pub struct Record<'l> {
    pub(crate) time: Time,
    /// Which instant the time is; set by a format only where that is not the same in all its records.
    pub(crate) stamp: Option<StampIs>,
    pub(crate) client: Option<Text<'l>>,
    pub(crate) user: Option<Text<'l>>,
    /// The request line, which is split when it is asked for; or its parts, where the log has these.
    pub(crate) request_line: Option<Text<'l>>,
    pub(crate) method: Option<Text<'l>>,
    pub(crate) target: Option<Text<'l>>,
    pub(crate) protocol: Option<Text<'l>>,
    pub(crate) status: Option<u16>,
    pub(crate) bytes: Option<u64>,
    pub(crate) host: Option<Text<'l>>,
    /// Whether the log has said which host, be it none: an absolute target then says nothing more.
    pub(crate) host_is_said: bool,
    pub(crate) referer: Option<Text<'l>>,
    pub(crate) agent: Option<Text<'l>>,
    pub(crate) duration_ns: Option<u128>,
    /// Fields of the one format, by their names.
    pub(crate) others: Vec<(Text<'l>, Text<'l>)>,
    /// Of the Common family what follows the bytes: it is split when it is asked for.
    pub(crate) rest: &'l [u8],
    pub(crate) object: Option<Object<'l>>,
}

/// Which instant a stamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampIs {
    /// The request came.
    Start,
    /// Its answer was done.
    End,
}

/// A field of a record by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    TimeNs,
    Digits,
    Client,
    User,
    Method,
    Target,
    Path,
    Protocol,
    Request,
    Status,
    Bytes,
    Host,
    Referer,
    Agent,
    DurationNs,
    /// One of the format's own.
    Other(String),
}

const FIELDS: [(&str, Field); 15] = [
    ("time_ns", Field::TimeNs),
    ("digits", Field::Digits),
    ("client", Field::Client),
    ("user", Field::User),
    ("method", Field::Method),
    ("target", Field::Target),
    ("path", Field::Path),
    ("protocol", Field::Protocol),
    ("request", Field::Request),
    ("status", Field::Status),
    ("bytes", Field::Bytes),
    ("host", Field::Host),
    ("referer", Field::Referer),
    ("agent", Field::Agent),
    ("duration_ns", Field::DurationNs),
];

impl Field {
    pub(crate) fn named(name: &str) -> Self {
        let known = FIELDS.iter().find(|(known, _)| *known == name);
        known.map_or_else(|| Self::Other(name.to_owned()), |(_, field)| field.clone())
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'l> {
    /// Bytes of the line.
    Text(Text<'l>),
    /// A whole number.
    Number(u128),
}

impl<'l> Value<'l> {
    /// The value as text.
    #[must_use]
    pub fn into_text(self) -> Text<'l> {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => Cow::Owned(number.to_string().into_bytes()),
        }
    }
}

impl<'l> Record<'l> {
    pub(crate) fn at(time: Time) -> Self {
        Self {
            time,
            stamp: None,
            client: None,
            user: None,
            request_line: None,
            method: None,
            target: None,
            protocol: None,
            status: None,
            bytes: None,
            host: None,
            host_is_said: false,
            referer: None,
            agent: None,
            duration_ns: None,
            others: Vec::new(),
            rest: &[],
            object: None,
        }
    }

    /// The stamp, in nanoseconds since the Unix epoch, below 2^63.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.time.ns
    }

    /// When the request came, if the record can say so; otherwise its stamp.
    #[must_use]
    pub fn arrival_ns(&self) -> u64 {
        match (self.stamp_is(), self.duration_ns) {
            (StampIs::End, Some(duration)) => {
                u128::from(self.time.ns).saturating_sub(duration).try_into().unwrap_or_default()
            }
            _ => self.time.ns,
        }
    }

    /// Which instant the stamp is.
    #[must_use]
    pub fn stamp_is(&self) -> StampIs {
        self.stamp.unwrap_or(StampIs::End)
    }

    /// How many digits of the second the stamp has, 0 to 9.
    #[must_use]
    pub fn digits(&self) -> u8 {
        self.time.digits
    }

    /// Seconds east of UTC of the clock by which the stamp is written, or of the zone that the options give to such a
    /// stamp. `None` for a stamp that is a number.
    #[must_use]
    pub fn stamp_east_s(&self) -> Option<i32> {
        self.time.east
    }

    /// The address or name of the client as logged, without port and brackets.
    #[must_use]
    pub fn client(&self) -> Option<&[u8]> {
        self.client.as_deref()
    }

    /// How long the request took, if that was logged.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u128> {
        self.duration_ns
    }

    /// Every field that has a value, by its name.
    #[must_use]
    pub fn fields(&self) -> Vec<(String, Value<'_>)> {
        let known = FIELDS.iter().filter_map(|(name, field)| Some(((*name).to_owned(), self.field(field)?)));
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let others =
            self.others.iter().map(|(other, text)| (name(other), Value::Text(Cow::Borrowed(&**text))));
        let extras = self.extras().enumerate();
        let extras = extras.map(|(i, text)| (format!("extra{}", i + 1), Value::Text(text)));
        known.chain(others).chain(extras).collect()
    }

    /// The value of a field, also where that is `-` or empty.
    pub(crate) fn field(&self, field: &Field) -> Option<Value<'_>> {
        let text = |text: &'_ Option<Text<'l>>| -> Option<Text<'l>> { text.clone() };
        let text = match field {
            Field::TimeNs => return Some(Value::Number(self.time.ns.into())),
            Field::Digits => return Some(Value::Number(self.time.digits.into())),
            Field::Status => return self.status.map(|status| Value::Number(status.into())),
            Field::Bytes => return self.bytes.map(|bytes| Value::Number(bytes.into())),
            Field::DurationNs => return self.duration_ns.map(Value::Number),
            Field::Client => text(&self.client),
            Field::User => text(&self.user),
            Field::Method => text(&self.method).or_else(|| Some(self.request()?.method)),
            Field::Target => self.target(),
            Field::Path => self.target().as_ref().map(path),
            Field::Protocol => text(&self.protocol).or_else(|| self.request()?.protocol),
            Field::Request => match self.request() {
                None => self.request_line.clone().and_then(some),
                Some(_) => None,
            },
            Field::Host if self.host_is_said => text(&self.host),
            Field::Host => self.host_of_target().flatten(),
            Field::Referer => text(&self.referer).or_else(|| self.visitor(0)),
            Field::Agent => text(&self.agent).or_else(|| self.visitor(1)),
            Field::Other(name) => self.other(name),
        };
        text.map(Value::Text)
    }

    fn other(&self, name: &str) -> Option<Text<'_>> {
        if let Some((_, text)) = self.others.iter().rfind(|(other, _)| **other == *name.as_bytes()) {
            return Some(text.clone());
        }
        let number = name.strip_prefix("extra")?;
        if number.starts_with(['0', '+']) {
            return None;
        }
        self.extras().nth(number.parse::<usize>().ok()?.checked_sub(1)?)
    }

    /// Referer and agent in the rest of the Common family: its first two words, if the first is quoted.
    fn visitor(&self, place: usize) -> Option<Text<'l>> {
        let words = LooseWords::of(self.visitor_words()?);
        words.take(2).nth(place).and_then(|word| some(word.text))
    }

    fn visitor_words(&self) -> Option<&'l [u8]> {
        trim_start(self.rest, b' ').starts_with(b"\"").then_some(self.rest)
    }

    fn extras(&self) -> impl Iterator<Item = Text<'l>> + use<'l> {
        let mut words = LooseWords::of(self.rest).peekable();
        if words.peek().is_some_and(|word| word.mark == Mark::Quoted) {
            words.nth(1);
        }
        words.map(|word| word.text)
    }

    /// Adds a field of the format's own; one of the same name gives way.
    pub(crate) fn set_other(&mut self, name: impl Into<Text<'l>>, text: Text<'l>) {
        let name = name.into();
        match self.others.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = text,
            None => self.others.push((name, text)),
        }
    }

    fn target(&self) -> Option<Text<'l>> {
        self.target.clone().or_else(|| Some(self.request()?.target))
    }

    fn request(&self) -> Option<Request<'l>> {
        Request::split(self.request_line.as_ref()?)
    }

    /// The host that an absolute target names; it may be none.
    pub(crate) fn host_of_target(&self) -> Option<Option<Text<'l>>> {
        let target = self.target()?;
        let (_, authority) = split_absolute(&target)?;
        let start = crate::text::offset_in(&target, authority);
        let user = rsplit_once(authority, b'@').map_or(0, |(user, _)| user.len() + 1);
        Some(host(part(&target, start + user..start + authority.len())))
    }

    pub(crate) fn set_host(&mut self, host: Option<Text<'l>>) {
        self.host = host;
        self.host_is_said = true;
    }
}

/// The parts of a request line, such as `GET /a?b HTTP/1.1`.
struct Request<'l> {
    method: Text<'l>,
    target: Text<'l>,
    protocol: Option<Text<'l>>,
}

impl<'l> Request<'l> {
    /// `None` if the line is no request line.
    fn split(line: &Text<'l>) -> Option<Self> {
        let trimmed = trim_start(trim_end(line, b' '), b' ');
        let (method, rest) = split_once(trimmed, b' ').filter(|(method, _)| is_token(method))?;
        let rest = trim_start(rest, b' ');
        let (target, protocol) = match rsplit_once(rest, b' ') {
            Some((target, last)) if last.starts_with(b"HTTP/") => (trim_end(target, b' '), Some(last)),
            _ => (rest, None),
        };
        let text = |inner: &[u8]| {
            let start = crate::text::offset_in(line, inner);
            part(line, start..start + inner.len())
        };
        let request = Self { method: text(method), target: text(target), protocol: protocol.map(text) };
        (!rest.is_empty()).then_some(request)
    }
}

/// The scheme and the authority of an absolute target.
fn split_absolute(target: &[u8]) -> Option<(&[u8], &[u8])> {
    if !target.first()?.is_ascii_alphabetic() {
        return None;
    }
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let (scheme, rest) = split_once(target, b':').filter(|(scheme, _)| scheme.iter().all(in_scheme))?;
    let rest = rest.strip_prefix(b"//")?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    Some((scheme, &rest[..end]))
}

/// The target up to `?`, without scheme and authority; `/` where that is nothing.
fn path<'l>(target: &Text<'l>) -> Text<'l> {
    let start = split_absolute(target).map_or(0, |(scheme, authority)| scheme.len() + 3 + authority.len());
    let end = memchr(b'?', &target[start..]).map_or(target.len(), |at| start + at);
    if start == end { Cow::Borrowed(b"/") } else { part(target, start..end) }
}

/// Whether this can be the name of a method.
fn is_token(text: &[u8]) -> bool {
    let in_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~-".contains(byte);
    !text.is_empty() && text.iter().all(in_token)
}

/// The text of a value that is there.
pub(crate) fn present(value: Option<Value<'_>>) -> Option<Text<'_>> {
    value.map(Value::into_text).filter(|text| !is_none(text))
}

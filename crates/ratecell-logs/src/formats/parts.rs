//! nginx's `log_format` and Apache's `LogFormat`, compiled to literals and fields.

use std::fmt;

use crate::number::Unit;

/// A piece of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Field { role: Option<Role>, name: String },
}

pub(crate) type Parts = Vec<Part>;

/// What a field means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time(TimeForm),
    Duration(Unit),
    Request,
    Target,
    Status,
    Bytes,
    Host,
    Text(TextField),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeForm {
    Clf,
    Iso,
    Unix,
}

/// A field of a record that is text and nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextField {
    Client,
    User,
    Referer,
    Agent,
    Method,
    Protocol,
}

impl Role {
    fn code(self) -> &'static str {
        match self {
            Self::Time(TimeForm::Clf) => "time:clf",
            Self::Time(TimeForm::Iso) => "time:iso",
            Self::Time(TimeForm::Unix) => "time:unix",
            Self::Duration(Unit::S) => "duration:0",
            Self::Duration(Unit::Ms) => "duration:3",
            Self::Duration(Unit::Us) => "duration:6",
            Self::Duration(Unit::Ns) => "duration:9",
            Self::Request => "request",
            Self::Target => "target",
            Self::Status => "status",
            Self::Bytes => "bytes",
            Self::Host => "host",
            Self::Text(TextField::Client) => "client",
            Self::Text(TextField::User) => "user",
            Self::Text(TextField::Referer) => "referer",
            Self::Text(TextField::Agent) => "agent",
            Self::Text(TextField::Method) => "method",
            Self::Text(TextField::Protocol) => "protocol",
        }
    }
}

impl Part {
    /// The piece as words: `literal` and its text, or `field`, its meaning if it has one, and its name.
    pub(crate) fn words(&self) -> Vec<Option<String>> {
        match self {
            Self::Literal(text) => vec![Some("literal".to_owned()), Some(text.clone())],
            Self::Field { role, name } => {
                vec![Some("field".to_owned()), role.map(|role| role.code().to_owned()), Some(name.clone())]
            }
        }
    }
}

/// Why a format string is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// Two fields with nothing between them.
    Adjacent,
    /// No field with a time.
    NoTime,
    /// A `%{…}t` that is not known.
    TimeFormat,
}

impl FormatError {
    /// The reason as one word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Adjacent => "adjacent",
            Self::NoTime => "no_time",
            Self::TimeFormat => "time_format",
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Adjacent => "two fields with nothing between them cannot be told apart",
            Self::NoTime => "no field has a time, as $time_local, $time_iso8601, $msec and %t have",
            Self::TimeFormat => {
                "this %{…}t is not known: expected sec, msec, usec, %Y-%m-%dT%H:%M:%S%z or %d/%b/%Y:%H:%M:%S %z"
            }
        };
        write!(f, "{}: {words}", self.code())
    }
}

impl std::error::Error for FormatError {}

fn nginx_role(name: &str) -> Option<Role> {
    Some(match name {
        "remote_addr" => Role::Text(TextField::Client),
        "remote_user" => Role::Text(TextField::User),
        "time_local" => Role::Time(TimeForm::Clf),
        "time_iso8601" => Role::Time(TimeForm::Iso),
        "msec" => Role::Time(TimeForm::Unix),
        "request" => Role::Request,
        "status" => Role::Status,
        "body_bytes_sent" | "bytes_sent" => Role::Bytes,
        "http_referer" => Role::Text(TextField::Referer),
        "http_user_agent" => Role::Text(TextField::Agent),
        "host" | "http_host" | "server_name" => Role::Host,
        "request_method" => Role::Text(TextField::Method),
        "request_uri" | "uri" => Role::Target,
        "server_protocol" => Role::Text(TextField::Protocol),
        "request_time" => Role::Duration(Unit::S),
        _ => return None,
    })
}

fn apache_role(letter: &str) -> Option<Role> {
    Some(match letter {
        "h" | "a" => Role::Text(TextField::Client),
        "u" => Role::Text(TextField::User),
        "r" => Role::Request,
        "s" => Role::Status,
        "b" | "B" | "O" => Role::Bytes,
        "v" | "V" => Role::Host,
        "m" => Role::Text(TextField::Method),
        "U" => Role::Target,
        "H" => Role::Text(TextField::Protocol),
        "D" => Role::Duration(Unit::Us),
        "T" => Role::Duration(Unit::S),
        _ => return None,
    })
}

/// The parts of a `log_format`.
pub(crate) fn nginx(text: &str) -> Result<Parts, FormatError> {
    let mut builder = Builder::default();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        builder.literal(&rest[..at]);
        let after = &rest[at + 1..];
        match nginx_name(after) {
            Some((name, after)) => {
                builder.field(nginx_role(name), name);
                rest = after;
            }
            None => {
                builder.literal("$");
                rest = after;
            }
        }
    }
    builder.literal(rest);
    builder.finish()
}

/// `name` or `{name}` at the front, and what follows it.
fn nginx_name(text: &str) -> Option<(&str, &str)> {
    let (braced, text) = text.strip_prefix('{').map_or((false, text), |text| (true, text));
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = if braced { rest.strip_prefix('}')? } else { rest };
    (!name.is_empty()).then_some((name, rest))
}

/// The parts of a `LogFormat`.
pub(crate) fn apache(text: &str) -> Result<Parts, FormatError> {
    // The path and its query are one target; a quote is escaped within the quotes of the configuration.
    let text = text.replace("%U%q", "%U").replace("\\\"", "\"");
    let mut builder = Builder::default();
    let mut rest = &*text;
    while let Some(at) = rest.find('%') {
        builder.literal(&rest[..at]);
        let after = &rest[at + 1..];
        match directive(after) {
            Some((argument, letter, after)) => {
                apache_field(&mut builder, argument, letter)?;
                rest = after;
            }
            None => {
                builder.literal("%");
                rest = after;
            }
        }
    }
    builder.literal(rest);
    builder.finish()
}

/// The argument in braces and the letter of a directive at the front, and what follows it.
fn directive(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let arrow = |text: &str| usize::from(text.starts_with(['<', '>']));
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '!' || c == ',');
    let text = &text[arrow(text)..];
    let (argument, text) = match text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        Some((argument, text)) => (Some(argument), text),
        None => (None, text),
    };
    let text = &text[arrow(text)..];
    let len = if text.starts_with("^ti") || text.starts_with("^to") {
        3
    } else {
        usize::from(text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%'))
    };
    (len > 0).then(|| (argument, &text[..len], &text[len..]))
}

fn apache_field(builder: &mut Builder, argument: Option<&str>, letter: &str) -> Result<(), FormatError> {
    let lower = argument.map(str::to_ascii_lowercase);
    match (letter, argument) {
        ("%", _) => builder.literal("%"),
        ("t", None) => {
            builder.literal("[");
            builder.field(Some(Role::Time(TimeForm::Clf)), "t");
            builder.literal("]");
        }
        ("t", Some(argument)) => {
            let form = match argument {
                "sec" | "msec" | "usec" | "begin:sec" | "end:sec" => TimeForm::Unix,
                "%Y-%m-%dT%H:%M:%S%z" | "%FT%T%z" => TimeForm::Iso,
                "%d/%b/%Y:%H:%M:%S %z" => TimeForm::Clf,
                _ => return Err(FormatError::TimeFormat),
            };
            builder.field(Some(Role::Time(form)), "t");
        }
        ("i", _) => {
            let name = lower.unwrap_or_default();
            let role = match &*name {
                "referer" => Some(Role::Text(TextField::Referer)),
                "user-agent" => Some(Role::Text(TextField::Agent)),
                "host" => Some(Role::Host),
                _ => None,
            };
            builder.field(role, &format!("http_{}", name.replace('-', "_")));
        }
        ("T", Some(unit)) if !unit.is_empty() => {
            let role = match unit {
                "s" => Some(Role::Duration(Unit::S)),
                "ms" => Some(Role::Duration(Unit::Ms)),
                "us" => Some(Role::Duration(Unit::Us)),
                _ => None,
            };
            builder.field(role, "T");
        }
        ("a", Some("c")) => builder.field(None, "peer"),
        (letter, _) => {
            let name = lower.filter(|name| !name.is_empty());
            builder.field(apache_role(letter), name.as_deref().unwrap_or(letter));
        }
    }
    Ok(())
}

/// Parts as they come, neighbouring literals as one.
#[derive(Default)]
struct Builder {
    parts: Parts,
}

impl Builder {
    fn literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Literal(last)) => last.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    fn field(&mut self, role: Option<Role>, name: &str) {
        self.parts.push(Part::Field { role, name: name.to_owned() });
    }

    fn finish(self) -> Result<Parts, FormatError> {
        let is_field = |part: &Part| matches!(part, Part::Field { .. });
        if self.parts.windows(2).any(|pair| pair.iter().all(is_field)) {
            return Err(FormatError::Adjacent);
        }
        if !self.parts.iter().any(|part| matches!(part, Part::Field { role: Some(Role::Time(_)), .. })) {
            return Err(FormatError::NoTime);
        }
        Ok(self.parts)
    }
}

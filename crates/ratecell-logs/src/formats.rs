//! The formats: each one a file, and a line where it is registered.

use std::fmt;
use std::str::FromStr;

use crate::reason::NoRecord;
use crate::record::{Record, StampIs};
use crate::time::Zone;
use crate::wrapper::Wrapper;

mod alb;
mod caddy;
mod combined;
mod custom;
mod envoy;
mod haproxy;
mod json;
mod parts;
mod s3;
mod w3c;

use json::Pointers;
use parts::{Part, Parts};

pub use parts::FormatError;

/// Reads the lines of one format.
pub(crate) trait ReadLine: fmt::Debug {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord>;

    /// Reads a line that begins with `#`.
    fn comment(&mut self, _text: &[u8]) {}
}

/// A format in which no line says anything about another.
#[derive(Debug)]
struct Stateless {
    read: for<'l> fn(&'l [u8], Zone) -> Result<Record<'l>, NoRecord>,
    zone: Zone,
}

impl ReadLine for Stateless {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        (self.read)(text, self.zone)
    }
}

/// What a reader is made with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seconds east of UTC, for times that are written without an offset.
    pub zone: Option<i32>,
    pointers: Pointers,
}

impl Options {
    /// Says where in a JSON line a field is, as `/a/b`: this goes before the names that are known.
    ///
    /// # Errors
    /// No such field, or no such pointer.
    pub fn set_pointer(&mut self, field: &str, pointer: &str) -> Result<(), String> {
        self.pointers.set(field, pointer)
    }

    /// Whether it was said of any field.
    #[must_use]
    pub fn has_pointers(&self) -> bool {
        !self.pointers.is_empty()
    }
}

/// A format's line in the registry.
struct Registered {
    name: &'static str,
    stamp: StampIs,
    reader: fn(&Options) -> Box<dyn ReadLine>,
}

/// In the order in which they are tried: of those that read as many lines, the first one is recognised.
static FORMATS: [Registered; 10] = [
    Registered { name: "w3c", stamp: StampIs::End, reader: |_| Box::new(w3c::W3c::default()) },
    Registered { name: "alb", stamp: StampIs::End, reader: |options| alb::reader(options.zone) },
    Registered { name: "s3", stamp: StampIs::Start, reader: |options| s3::reader(options.zone) },
    Registered { name: "haproxy", stamp: StampIs::Start, reader: |options| haproxy::reader(options.zone) },
    Registered { name: "envoy", stamp: StampIs::Start, reader: |options| envoy::reader(options.zone) },
    Registered {
        name: "caddy",
        stamp: StampIs::End,
        reader: |options| Box::new(caddy::Caddy::new(options.zone)),
    },
    Registered {
        name: "traefik",
        stamp: StampIs::Start,
        reader: |options| Box::new(json::Json::new(true, options.zone, &options.pointers)),
    },
    Registered {
        name: "json",
        stamp: StampIs::End,
        reader: |options| Box::new(json::Json::new(false, options.zone, &options.pointers)),
    },
    Registered {
        name: "vhost_combined",
        stamp: StampIs::End,
        reader: |options| Box::new(combined::Combined::new(true, options.zone)),
    },
    Registered {
        name: "combined",
        stamp: StampIs::End,
        reader: |options| Box::new(combined::Combined::new(false, options.zone)),
    },
];

/// How the lines of a log are written: a format, and perhaps a wrapper around it.
///
/// As text a name, as `combined`; `nginx:` and a `log_format`, or `apache:` and a `LogFormat`; and before each
/// of them perhaps a wrapper, as `syslog+combined`.
#[derive(Clone)]
pub struct Format {
    pub(crate) wrapper: Wrapper,
    form: Form,
}

#[derive(Clone)]
enum Form {
    Registered(&'static Registered),
    Compiled { server: Server, text: String, parts: Parts },
}

/// Whose format string it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// nginx: a `log_format`.
    Nginx,
    /// Apache: a `LogFormat`.
    Apache,
}

impl Server {
    fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache",
        }
    }
}

impl Format {
    /// Every format with every wrapper, in the order in which they are tried.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let of = |wrapper| FORMATS.iter().map(move |format| Self { wrapper, form: Form::Registered(format) });
        Wrapper::ALL.into_iter().flat_map(of)
    }

    /// The names of the formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().rev().map(|format| format.name)
    }

    /// The format that a server's format string describes.
    ///
    /// # Errors
    /// See [`FormatError`].
    pub fn compile(server: Server, text: &str) -> Result<Self, FormatError> {
        let parts = match server {
            Server::Nginx => parts::nginx(text)?,
            Server::Apache => parts::apache(text)?,
        };
        let form = Form::Compiled { server, text: text.to_owned(), parts };
        Ok(Self { wrapper: Wrapper::None, form })
    }

    /// Of a format string its literals and fields: `literal` and a text, or `field`, its meaning if it has one,
    /// and its name.
    #[must_use]
    pub fn parts(&self) -> Vec<Vec<Option<String>>> {
        match &self.form {
            Form::Registered(_) => Vec::new(),
            Form::Compiled { parts, .. } => parts.iter().map(Part::words).collect(),
        }
    }

    pub(crate) fn reader(&self, options: &Options) -> Box<dyn ReadLine> {
        match &self.form {
            Form::Registered(format) => (format.reader)(options),
            Form::Compiled { parts, .. } => Box::new(custom::Custom::new(parts, options.zone)),
        }
    }

    /// Which instant its stamps are.
    pub(crate) fn stamp_is(&self) -> StampIs {
        match &self.form {
            Form::Registered(format) => format.stamp,
            Form::Compiled { .. } => StampIs::End,
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (wrapper, format) = Wrapper::split_off(text);
        let compiled = |server, string| Self::compile(server, string).map_err(|error| error.to_string());
        let form = if let Some(string) = format.strip_prefix("nginx:") {
            compiled(Server::Nginx, string)?.form
        } else if let Some(string) = format.strip_prefix("apache:") {
            compiled(Server::Apache, string)?.form
        } else {
            let registered = FORMATS.iter().find(|registered| registered.name == format);
            Form::Registered(registered.ok_or_else(|| {
                let names: Vec<_> = Self::names().collect();
                format!(
                    "`{format}` is no format: expected {}, nginx:LOG_FORMAT or apache:LOGFORMAT, and perhaps syslog+, docker+ or cri+ before it",
                    names.join(", ")
                )
            })?)
        };
        Ok(Self { wrapper, form })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wrapper != Wrapper::None {
            write!(f, "{}+", self.wrapper.name())?;
        }
        match &self.form {
            Form::Registered(format) => f.write_str(format.name),
            Form::Compiled { server, text, .. } => write!(f, "{}:{text}", server.name()),
        }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}

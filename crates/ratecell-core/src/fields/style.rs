//! Which fields are written.

use core::fmt;

/// A way to tell a client its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// `RateLimit-Policy` and `RateLimit` by draft-ietf-httpapi-ratelimit-headers-11.
    Draft11,
    /// The same fields by draft -07.
    Draft07,
    /// `RateLimit-Policy`, `RateLimit-Limit`, `-Remaining` and `-Reset` by draft -06.
    Draft06,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset` by the drafts -03 to -05.
    Draft03,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, in seconds from now.
    X,
    /// The same fields, `-Reset` in seconds since 1970.
    XUnix,
    /// As [`XUnix`](Self::XUnix), and `X-RateLimit-Used`.
    GitHub,
    /// `X-Rate-Limit-Limit`, `-Remaining` and `-Reset`, in seconds since 1970.
    Twitter,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset`, and the first two as `X-RateLimit-Limit-Minute` and so on.
    Kong,
}

impl Style {
    /// Every style there is.
    pub const ALL: [Self; 9] = [
        Self::Draft11,
        Self::Draft07,
        Self::Draft06,
        Self::Draft03,
        Self::X,
        Self::XUnix,
        Self::GitHub,
        Self::Twitter,
        Self::Kong,
    ];

    /// The stable name, as in the published vectors: `"draft11"`, `"x_unix"`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft11 => "draft11",
            Self::Draft07 => "draft07",
            Self::Draft06 => "draft06",
            Self::Draft03 => "draft03",
            Self::X => "x",
            Self::XUnix => "x_unix",
            Self::GitHub => "github",
            Self::Twitter => "twitter",
            Self::Kong => "kong",
        }
    }

    /// The style of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// The groups of field names that it writes, a bit each: two styles that share one have a field in common.
    const fn groups(self) -> u8 {
        const POLICY: u8 = 1;
        const RATE_LIMIT: u8 = 2;
        const NUMBERS: u8 = 4;
        const X_NUMBERS: u8 = 8;
        const X_RATE_NUMBERS: u8 = 16;
        match self {
            Self::Draft11 | Self::Draft07 => POLICY | RATE_LIMIT,
            Self::Draft06 => POLICY | NUMBERS,
            Self::Draft03 | Self::Kong => NUMBERS,
            Self::X | Self::XUnix | Self::GitHub => X_NUMBERS,
            Self::Twitter => X_RATE_NUMBERS,
        }
    }
}

/// The styles of one response, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Styles {
    /// No two have a group of field names in common, so there is room for one of each.
    styles: [Option<Style>; 5],
}

impl From<Style> for Styles {
    fn from(style: Style) -> Self {
        Self { styles: [Some(style), None, None, None, None] }
    }
}

impl Styles {
    /// These styles, then `style`.
    ///
    /// # Errors
    /// Where one of them writes a field of the same name.
    pub fn and(mut self, style: Style) -> Result<Self, StylesError> {
        if let Some(earlier) = self.iter().find(|earlier| earlier.groups() & style.groups() != 0) {
            return Err(StylesError { earlier, style });
        }
        if let Some(place) = self.styles.iter_mut().find(|place| place.is_none()) {
            *place = Some(style);
        }
        Ok(self)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Style> {
        self.styles.into_iter().flatten()
    }
}

/// Two styles that write a field of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StylesError {
    earlier: Style,
    style: Style,
}

impl fmt::Display for StylesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (earlier, style) = (self.earlier.name(), self.style.name());
        write!(f, "the styles {earlier} and {style} write fields of the same name: expected one of them")
    }
}

impl core::error::Error for StylesError {}

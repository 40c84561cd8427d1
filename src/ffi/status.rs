//! What every call answers: one number, with its name and text in one table.

use core::ffi::{CStr, c_char};

use crate::error::{BuildError, RegionError, RegionField};
use crate::limiter::ReserveError;
use crate::memory::MemoryError;
use ratecell_core::{ChangeError, PolicyErrorKind};

/// What a function returns. Negative: an error; nothing was charged, nothing was written.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_status {
    /// The request may go; its cost was charged. For a function that does not decide: success.
    RATECELL_ALLOWED = 0,
    /// Not now; retry_after_ns says when. Nothing was charged.
    RATECELL_DENIED = 1,
    /// The cost exceeds the capacity: the request can never go. Nothing was charged.
    RATECELL_NEVER = 2,
    /// now_ns is past the last instant that the policy's state can hold. Nothing was charged.
    RATECELL_CLOCK_RANGE = 3,
    /// Not known yet: the store that machines share was asked, and the request does not wait. Nothing was charged.
    RATECELL_ASKED = 4,
    /// The path can be read in several ways, which the file of rules refuses: to be answered with 400. Nothing was charged.
    RATECELL_UNCLEAR_PATH = 5,

    /// A pointer is NULL that must not be, a flag or number is unknown, flags contradict each other, or a reserved field
    /// is not 0.
    RATECELL_EINVAL = -1,
    /// A pointer is not aligned for what it points to.
    RATECELL_EALIGN = -2,
    /// A length or count is larger than memory can be, or a struct's size is smaller than in the first version.
    RATECELL_ESIZE = -3,
    /// A config is longer than this library knows and not all zero there, so it asks for something newer; or it is
    /// longer than 4096.
    RATECELL_E2BIG = -4,
    /// A field of the config has a value that this library does not know.
    RATECELL_ECONFIG = -5,
    /// A name for fields is not 1 to 256 characters of printable ASCII, no unit has that name, or a partition is too
    /// long.
    RATECELL_ENAME = -6,
    /// The text does not fit the buffer.
    RATECELL_ENOSPC = -7,
    /// The limiter reserves nothing: it is in memory of which ratecell_region_init made a region without
    /// RATECELL_RESERVATIONS, which its policy needs, or its units are those of many machines. Or rules reserve each request,
    /// and this one has no RATECELL_RESERVE.
    RATECELL_ERESERVE = -8,

    /// The policy's text does not follow the grammar; ratecell_policy_explain says where.
    RATECELL_EPOLICY_SYNTAX = -10,
    /// The policy's limit (refill, leak) is 0.
    RATECELL_EPOLICY_ZERO_LIMIT = -11,
    /// The policy's period (window, interval) is 0.
    RATECELL_EPOLICY_ZERO_PERIOD = -12,
    /// The policy's capacity (burst) is 0.
    RATECELL_EPOLICY_ZERO_CAPACITY = -13,
    /// A parameter that the policy's algorithm needs is absent.
    RATECELL_EPOLICY_MISSING_PARAMETER = -14,
    /// The offset of a fixed window is not below the window; or the at, week or day of a calendar_window does not exist, or is
    /// of another period.
    RATECELL_EPOLICY_BAD_OFFSET = -15,
    /// A number of the policy is out of range, or its state does not fit one word for its horizon.
    RATECELL_EPOLICY_RANGE = -16,
    /// The policy's rate is too fine to be kept within a thousandth of itself.
    RATECELL_EPOLICY_PRECISION = -17,
    /// No algorithm has the name in the policy.
    RATECELL_EPOLICY_UNKNOWN_ALGORITHM = -18,
    /// The policy has more than eight layers.
    RATECELL_EPOLICY_BAD_LAYERS = -19,
    /// No time zone has the name in the policy.
    RATECELL_EPOLICY_BAD_ZONE = -23,

    /// The system did not give the memory of the table.
    RATECELL_ENOMEM = -20,
    /// The system did not give random bytes for the secret of the key hash.
    RATECELL_ENORANDOM = -21,
    /// The processor has no instruction that exchanges 16 bytes at once, as a table must: it is neither aarch64 nor x86-64
    /// with cmpxchg16b.
    RATECELL_EPROCESSOR = -22,

    /// The memory is too small for the region, or the file has been cut short.
    RATECELL_EREGION_SMALL = -40,
    /// The memory or file is not a region.
    RATECELL_EREGION_NONE = -41,
    /// The region's header is not one that was ever written.
    RATECELL_EREGION_DAMAGED = -42,
    /// The region is of another version of the library that lays it out otherwise, or of another byte order.
    RATECELL_EREGION_LAYOUT = -43,
    /// The region is of a policy with more or fewer layers.
    RATECELL_EREGION_LAYERS = -44,
    /// The region's words mean something else: another algorithm, window or offset.
    RATECELL_EREGION_WORDS = -45,
    /// The config's max_keys are not those of the region.
    RATECELL_EREGION_MAX_KEYS = -46,
    /// The config's when_full is not that of the region.
    RATECELL_EREGION_WHEN_FULL = -47,
    /// The region is of another run of the machine. A file is taken over by ratecell_limiter_open.
    RATECELL_EREGION_BOOT = -48,
    /// The region is of another time namespace, whose clock is another.
    RATECELL_EREGION_TIME_NAMESPACE = -49,
    /// A sliding_log cannot be shared.
    RATECELL_EREGION_NO_WORD = -50,
    /// The system refuses to open, lock, read, enlarge or map the file; the config's why has its words.
    /// On a system other than Linux: no memory and no file can be shared.
    RATECELL_EFILE = -51,
    /// The limiter's units are, or are to be, those of many machines, and its store, the store's name or its policy is another;
    /// or the store cannot be used. The config's why says which.
    RATECELL_ESTORE = -52,
    /// The region is of another policy: the config's why names both, and of rules the first that differs. The config can say
    /// RATECELL_FOLLOW or RATECELL_CHANGE.
    RATECELL_EREGION_POLICY = -53,

    /// The file of rules has a fault; why says where and which.
    RATECELL_ERULES = -60,
    /// The policy cannot follow the one in force.
    RATECELL_ECHANGE = -61,

    /// A bug in ratecell: it stopped half way. The process can go on.
    RATECELL_EPANIC = -90,
}

use ratecell_status::*;

/// Every status, in the order of the enum.
const TEXTS: [(ratecell_status, &CStr); 45] = [
    (RATECELL_ALLOWED, c"RATECELL_ALLOWED: allowed, or success"),
    (RATECELL_DENIED, c"RATECELL_DENIED: not now"),
    (RATECELL_NEVER, c"RATECELL_NEVER: the cost exceeds the capacity"),
    (RATECELL_CLOCK_RANGE, c"RATECELL_CLOCK_RANGE: the time is past what the policy's state can tell"),
    (RATECELL_ASKED, c"RATECELL_ASKED: the store was asked, and has not answered yet"),
    (RATECELL_UNCLEAR_PATH, c"RATECELL_UNCLEAR_PATH: the path can be read in several ways"),
    (RATECELL_EINVAL, c"RATECELL_EINVAL: a pointer is NULL that must not be, or a number selects nothing"),
    (RATECELL_EALIGN, c"RATECELL_EALIGN: a pointer is not aligned for what it points to"),
    (RATECELL_ESIZE, c"RATECELL_ESIZE: a length, count or struct size is too large or too small"),
    (
        RATECELL_E2BIG,
        c"RATECELL_E2BIG: the config asks for something newer than this library, or is too long",
    ),
    (RATECELL_ECONFIG, c"RATECELL_ECONFIG: a field of the config has an unknown value"),
    (RATECELL_ENAME, c"RATECELL_ENAME: a name, unit or partition for fields is not one"),
    (RATECELL_ENOSPC, c"RATECELL_ENOSPC: the text does not fit the buffer"),
    (
        RATECELL_ERESERVE,
        c"RATECELL_ERESERVE: the limiter reserves nothing: its region has no room for what is given back, or it is one of many machines",
    ),
    (
        RATECELL_EPOLICY_SYNTAX,
        c"RATECELL_EPOLICY_SYNTAX: the policy is not [algorithm] LIMIT/PERIOD [option=value]... [& layer]...",
    ),
    (RATECELL_EPOLICY_ZERO_LIMIT, c"RATECELL_EPOLICY_ZERO_LIMIT: the policy's limit is 0"),
    (RATECELL_EPOLICY_ZERO_PERIOD, c"RATECELL_EPOLICY_ZERO_PERIOD: the policy's period is 0"),
    (RATECELL_EPOLICY_ZERO_CAPACITY, c"RATECELL_EPOLICY_ZERO_CAPACITY: the policy's capacity or burst is 0"),
    (
        RATECELL_EPOLICY_MISSING_PARAMETER,
        c"RATECELL_EPOLICY_MISSING_PARAMETER: a parameter that the policy's algorithm needs is absent",
    ),
    (
        RATECELL_EPOLICY_BAD_OFFSET,
        c"RATECELL_EPOLICY_BAD_OFFSET: the policy's offset is not below its window",
    ),
    (
        RATECELL_EPOLICY_RANGE,
        c"RATECELL_EPOLICY_RANGE: a number of the policy is out of range, or its state does not fit 64 bits",
    ),
    (
        RATECELL_EPOLICY_PRECISION,
        c"RATECELL_EPOLICY_PRECISION: the policy's rate is too fine to be kept exactly enough",
    ),
    (
        RATECELL_EPOLICY_UNKNOWN_ALGORITHM,
        c"RATECELL_EPOLICY_UNKNOWN_ALGORITHM: no algorithm has the name in the policy",
    ),
    (RATECELL_EPOLICY_BAD_LAYERS, c"RATECELL_EPOLICY_BAD_LAYERS: the policy has more than 8 layers"),
    (RATECELL_EPOLICY_BAD_ZONE, c"RATECELL_EPOLICY_BAD_ZONE: no time zone has the name in the policy"),
    (RATECELL_ENOMEM, c"RATECELL_ENOMEM: no memory for the table"),
    (RATECELL_ENORANDOM, c"RATECELL_ENORANDOM: no random bytes for the key hash"),
    (RATECELL_EPROCESSOR, c"RATECELL_EPROCESSOR: the processor cannot exchange 16 bytes at once"),
    (RATECELL_EREGION_SMALL, c"RATECELL_EREGION_SMALL: the memory or file is too small for the region"),
    (RATECELL_EREGION_NONE, c"RATECELL_EREGION_NONE: the memory or file is not a region of ratecell"),
    (RATECELL_EREGION_DAMAGED, c"RATECELL_EREGION_DAMAGED: the region's header is damaged"),
    (
        RATECELL_EREGION_LAYOUT,
        c"RATECELL_EREGION_LAYOUT: the region is laid out otherwise, by another version or byte order",
    ),
    (
        RATECELL_EREGION_LAYERS,
        c"RATECELL_EREGION_LAYERS: the region is of a policy with more or fewer layers",
    ),
    (RATECELL_EREGION_WORDS, c"RATECELL_EREGION_WORDS: the region is of another algorithm, window or offset"),
    (
        RATECELL_EREGION_MAX_KEYS,
        c"RATECELL_EREGION_MAX_KEYS: the config's max_keys are not those of the region",
    ),
    (
        RATECELL_EREGION_WHEN_FULL,
        c"RATECELL_EREGION_WHEN_FULL: the config's when_full is not that of the region",
    ),
    (RATECELL_EREGION_BOOT, c"RATECELL_EREGION_BOOT: the region is of another run of the machine"),
    (
        RATECELL_EREGION_TIME_NAMESPACE,
        c"RATECELL_EREGION_TIME_NAMESPACE: the region is of another time namespace",
    ),
    (RATECELL_EREGION_NO_WORD, c"RATECELL_EREGION_NO_WORD: a sliding_log cannot be shared"),
    (RATECELL_EFILE, c"RATECELL_EFILE: the system refuses to open, lock, read, enlarge or map the file"),
    (RATECELL_ESTORE, c"RATECELL_ESTORE: the store of many machines differs, or cannot be used"),
    (RATECELL_EREGION_POLICY, c"RATECELL_EREGION_POLICY: the region is of another policy"),
    (RATECELL_ERULES, c"RATECELL_ERULES: the file of rules has a fault"),
    (
        RATECELL_ECHANGE,
        c"RATECELL_ECHANGE: the policy cannot follow the one in force: it has other layers, another algorithm or window, or no room for the clock",
    ),
    (RATECELL_EPANIC, c"RATECELL_EPANIC: a bug in ratecell"),
];

impl From<PolicyErrorKind> for ratecell_status {
    fn from(kind: PolicyErrorKind) -> Self {
        match kind {
            PolicyErrorKind::Syntax => RATECELL_EPOLICY_SYNTAX,
            PolicyErrorKind::ZeroLimit => RATECELL_EPOLICY_ZERO_LIMIT,
            PolicyErrorKind::ZeroPeriod => RATECELL_EPOLICY_ZERO_PERIOD,
            PolicyErrorKind::ZeroCapacity => RATECELL_EPOLICY_ZERO_CAPACITY,
            PolicyErrorKind::MissingParameter => RATECELL_EPOLICY_MISSING_PARAMETER,
            PolicyErrorKind::BadOffset => RATECELL_EPOLICY_BAD_OFFSET,
            PolicyErrorKind::Range => RATECELL_EPOLICY_RANGE,
            PolicyErrorKind::Precision => RATECELL_EPOLICY_PRECISION,
            PolicyErrorKind::UnknownAlgorithm => RATECELL_EPOLICY_UNKNOWN_ALGORITHM,
            PolicyErrorKind::BadLayers => RATECELL_EPOLICY_BAD_LAYERS,
            PolicyErrorKind::BadZone => RATECELL_EPOLICY_BAD_ZONE,
            // The enum may grow; a test sees that no kind comes to this.
            _ => RATECELL_ECONFIG,
        }
    }
}

impl From<BuildError> for ratecell_status {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::ZeroKeys => RATECELL_ECONFIG,
            BuildError::NoPolicy => RATECELL_EINVAL,
            BuildError::NotShared { .. }
            | BuildError::Epoch
            | BuildError::Clock
            | BuildError::Names
            | BuildError::SharedCell => RATECELL_ECONFIG,
            BuildError::Shared { .. } => RATECELL_ESTORE,
            BuildError::Rule { .. } => RATECELL_ERULES,
            BuildError::InRule { error, .. } => (*error).into(),
            BuildError::Memory(error) => error.into(),
            BuildError::NoRandomness { .. } => RATECELL_ENORANDOM,
            BuildError::Processor => RATECELL_EPROCESSOR,
            BuildError::Policy(error) | BuildError::Change(ChangeError::Policy(error)) => error.kind().into(),
            BuildError::Change(_) => RATECELL_ECHANGE,
            BuildError::Region(error) | BuildError::File { error, .. } => error.into(),
        }
    }
}

impl From<&ReserveError> for ratecell_status {
    fn from(error: &ReserveError) -> Self {
        match error {
            ReserveError::Charge => RATECELL_EINVAL,
            ReserveError::Layers { .. } | ReserveError::NotCounted | ReserveError::Shared => {
                RATECELL_ERESERVE
            }
        }
    }
}

impl From<MemoryError> for ratecell_status {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::OutOfMemory { .. } => RATECELL_ENOMEM,
            MemoryError::Unaligned { .. } => RATECELL_EALIGN,
            MemoryError::Unsupported => RATECELL_EFILE,
        }
    }
}

impl From<RegionError> for ratecell_status {
    fn from(error: RegionError) -> Self {
        match error {
            RegionError::TooSmall { .. } => RATECELL_EREGION_SMALL,
            RegionError::NotARegion => RATECELL_EREGION_NONE,
            RegionError::Corrupt | RegionError::Section { .. } => RATECELL_EREGION_DAMAGED,
            RegionError::Differs { field, .. } => match field {
                RegionField::Layout => RATECELL_EREGION_LAYOUT,
                RegionField::Policy => RATECELL_EREGION_POLICY,
                RegionField::Layers => RATECELL_EREGION_LAYERS,
                RegionField::Words => RATECELL_EREGION_WORDS,
                RegionField::MaxKeys => RATECELL_EREGION_MAX_KEYS,
                RegionField::WhenFull => RATECELL_EREGION_WHEN_FULL,
                RegionField::Store => RATECELL_ESTORE,
                RegionField::Names => RATECELL_ECONFIG,
                RegionField::Boot => RATECELL_EREGION_BOOT,
                RegionField::TimeNamespace => RATECELL_EREGION_TIME_NAMESPACE,
            },
            RegionError::NoWord => RATECELL_EREGION_NO_WORD,
            RegionError::Io { .. } | RegionError::Unsupported => RATECELL_EFILE,
        }
    }
}

impl ratecell_status {
    /// What it is, beginning with its name.
    pub(super) fn text(self) -> &'static CStr {
        text_of(self as i32)
    }
}

fn text_of(status: i32) -> &'static CStr {
    let known = TEXTS.into_iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"unknown ratecell status", |(_, text)| text)
}

/// As C has it.
pub(super) fn code(result: Result<(), ratecell_status>) -> i32 {
    match result {
        Ok(()) => RATECELL_ALLOWED as i32,
        Err(status) => status as i32,
    }
}

/// Say what a status is, beginning with its name.
///
/// Returns static text, never NULL; of a number that is no status, that it is unknown.
/// Errors: none.
/// NULL: nothing to be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn ratecell_strerror(status: i32) -> *const c_char {
    text_of(status).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_policy_error_has_its_status() {
        let statuses = PolicyErrorKind::ALL.map(ratecell_status::from);
        for (status, kind) in statuses.iter().zip(PolicyErrorKind::ALL) {
            assert_eq!(statuses.iter().filter(|other| *other == status).count(), 1, "{kind:?}");
            assert_ne!(*status, RATECELL_ECONFIG, "{kind:?}");
        }
    }

    #[test]
    fn the_table_has_every_status_once_and_each_text_its_name() {
        let source = include_str!("status.rs");
        let listed = source.lines().filter(|line| line.starts_with("    RATECELL_") && line.contains(" = "));
        let mut numbers = Vec::new();
        for line in listed {
            let (name, number) =
                line.trim().trim_end_matches(',').split_once(" = ").expect("a line of the enum");
            let number: i32 = number.parse().expect("a number");
            // SAFETY: static text.
            let text = unsafe { CStr::from_ptr(ratecell_strerror(number)) }.to_str().expect("ASCII");
            assert!(text.starts_with(&format!("{name}: ")), "{number}: {text}");
            numbers.push(number);
        }
        assert_eq!(numbers, TEXTS.map(|(status, _)| status as i32));
    }
}

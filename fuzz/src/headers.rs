//! The HTTP fields of any decision: what they say is a structured field, or digits, and is that decision's.

use core::ffi::{CStr, c_char};
use std::ffi::CString;
use std::time::{SystemTime, UNIX_EPOCH};

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::{
    RATECELL_ALLOWED, RATECELL_CLOCK_RANGE, RATECELL_DENIED, RATECELL_EINVAL, RATECELL_ENAME, RATECELL_NEVER,
};
use ratecell::ffi::{
    ratecell_config, ratecell_decision, ratecell_header_name, ratecell_limiter_check_at,
    ratecell_limiter_header,
};
use ratecell::headers::{Field, Headers};
use ratecell::{Limiter, Policy};
use sfv::{Item, List, ListEntry, Parser};

use crate::limiter::CLimiter;
use crate::memory::Memory;
use crate::policies::{Number, PolicyText};
use crate::text::written;

/// The fields by their numbers in C.
const FIELDS: [Field; 7] = [
    Field::RateLimit,
    Field::RateLimitPolicy,
    Field::RetryAfter,
    Field::XRateLimitLimit,
    Field::XRateLimitRemaining,
    Field::XRateLimitReset,
    Field::XRateLimitResetUnix,
];

/// The largest structured integer: RFC 9651, section 3.3.1.
const LARGEST: u64 = 999_999_999_999_999;

const SECOND: u64 = 1_000_000_000;

/// A policy and a name for it, a decision that no limiter made, and requests for some that one makes.
#[derive(Arbitrary, Debug)]
pub struct Case {
    policy: PolicyText,
    name: Option<[u8; 12]>,
    limit: u64,
    remaining: u64,
    retry_after_ns: u64,
    reset_after_ns: u64,
    outcome: u8,
    layer: u8,
    no_field: i32,
    requests: [(Number, Number); 3],
}

impl Case {
    pub fn run(self) {
        let text = self.policy.to_c();
        let Some(policy) = text.to_str().ok().and_then(|text| text.parse::<Policy>().ok()) else { return };
        let config = ratecell_config { size: size_of::<ratecell_config>(), max_keys: 1, when_full: 0 };
        let limiter = CLimiter::new(&text, Some(&config)).expect("a limiter of a policy");
        let twin = Limiter::builder(policy.clone()).max_keys(1).build().expect("a limiter of a policy");
        let name = self.name.map(|bytes| {
            let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            CString::new(&bytes[..len]).expect("no NUL is left")
        });
        let asker = Asker { limiter, policy, name };

        let decision = self.decision();
        asker.fields(&decision);
        asker.no_field(self.no_field, &decision);
        let mut now = 0;
        for (wait, cost) in self.requests {
            now += wait.get();
            asker.as_in_rust(&twin, cost.cost(), now);
        }
    }

    /// One outcome in five is none, and layers go beyond the policy's.
    fn decision(&self) -> ratecell_decision {
        let Self { limit, remaining, retry_after_ns, reset_after_ns, .. } = *self;
        let (outcome, layer) = (i32::from(self.outcome % 5), u32::from(self.layer % 12));
        let (delay_ns, reserved) = (0, [0; 2]);
        ratecell_decision {
            limit,
            remaining,
            retry_after_ns,
            reset_after_ns,
            delay_ns,
            outcome,
            layer,
            reserved,
        }
    }
}

/// Asks for fields, and checks the answers.
struct Asker {
    limiter: CLimiter,
    policy: Policy,
    name: Option<CString>,
}

impl Asker {
    fn value(&self, header: i32, decision: &ratecell_decision) -> Result<String, i32> {
        let name = self.name.as_ref().map_or(core::ptr::null(), |name| name.as_ptr());
        written("ratecell_limiter_header", |buffer: *mut c_char, len| {
            // SAFETY: a limiter, a text with its NUL or none, a decision, a buffer as `written` has it.
            unsafe { ratecell_limiter_header(self.limiter.get(), header, name, decision, buffer, len) }
        })
    }

    fn no_field(&self, header: i32, decision: &ratecell_decision) {
        let name = ratecell_header_name(header);
        let field = usize::try_from(header).ok().and_then(|header| FIELDS.get(header));
        match field {
            Some(field) => {
                // SAFETY: static text.
                let name = unsafe { CStr::from_ptr(name) };
                assert_eq!(name.to_str(), Ok(field.name()), "the name of field {header}");
            }
            None => {
                assert!(name.is_null(), "field {header}: expected no name");
                assert_eq!(self.value(header, decision), Err(RATECELL_EINVAL as i32), "field {header}");
            }
        }
    }

    /// What each field must say of a decision, made by a limiter or not.
    fn fields(&self, decision: &ratecell_decision) {
        for (header, field) in (0..).zip(FIELDS) {
            let before = unix_ns();
            let told = self.value(header, decision);
            let layers = self.policy.resolved().count();
            if decision.outcome > RATECELL_CLOCK_RANGE as i32 || decision.layer as usize >= layers {
                assert_eq!(told, Err(RATECELL_EINVAL as i32), "{field:?} of {decision:?}, which is none");
                continue;
            }
            if self.name.as_ref().is_some_and(|name| !is_printable(name)) {
                assert_eq!(told, Err(RATECELL_ENAME as i32), "{field:?} of the name {:?}", self.name);
                continue;
            }
            let text = told.unwrap_or_else(|status| panic!("{field:?} of {decision:?}: status {status}"));
            match field {
                Field::RateLimit => self.rate_limit(&text, decision),
                Field::RateLimitPolicy => self.rate_limit_policy(&text),
                Field::XRateLimitResetUnix => {
                    let reset =
                        |now: u128| (now + u128::from(decision.reset_after_ns)).div_ceil(SECOND.into());
                    let expected = reset(before)..=reset(unix_ns());
                    let told = digits(&text).map(u128::from);
                    assert!(
                        told.is_some_and(|told| expected.contains(&told)),
                        "{field:?} {text}: expected {expected:?}"
                    );
                }
                _ => assert_eq!(digits(&text), number(field, decision), "{field:?} {text:?} of {decision:?}"),
            }
        }
    }

    fn rate_limit(&self, text: &str, decision: &ratecell_decision) {
        let [item] = &items(text)[..] else { panic!("{text:?}: expected one item") };
        assert_eq!(name(item), self.layer_name(decision.layer as usize), "the name in {text:?}");
        let remaining = decision.remaining.min(LARGEST);
        assert_eq!(integer(item, "r"), Some(remaining), "{text:?} of {decision:?}");
        let outcome = decision.outcome;
        let until = if outcome == RATECELL_ALLOWED as i32 || outcome == RATECELL_NEVER as i32 {
            Some(decision.reset_after_ns.div_ceil(SECOND))
        } else {
            number(Field::RetryAfter, decision)
        };
        assert_eq!(integer(item, "t"), until, "{text:?} of {decision:?}");
    }

    fn rate_limit_policy(&self, text: &str) {
        let items = items(text);
        let layers: Vec<_> = self.policy.resolved().collect();
        assert_eq!(items.len(), layers.len(), "{text:?}: expected an item for each layer");
        for ((number, layer), item) in layers.iter().enumerate().zip(&items) {
            assert_eq!(name(item), self.layer_name(number), "the name in {text:?}");
            let quota = integer(item, "q").unwrap_or_else(|| panic!("{text:?}: expected a quota"));
            assert!(quota > 0, "{text:?}: expected a quota above 0");
            assert_ne!(integer(item, "w"), Some(0), "{text:?}: expected a window above 0");
            let capacity = integer(item, "ratecell-burst").unwrap_or(quota);
            assert_eq!(capacity, layer.capacity, "{text:?}: expected the capacity of layer {number}");
        }
    }

    fn layer_name(&self, number: usize) -> String {
        let policy = self.policy.to_string();
        match &self.name {
            None => policy.split(" & ").nth(number).expect("a layer's text").to_owned(),
            Some(name) => {
                let name = name.to_str().expect("ASCII");
                if self.policy.resolved().count() == 1 {
                    name.to_owned()
                } else {
                    format!("{name}-{}", number + 1)
                }
            }
        }
    }

    /// A decision that a limiter makes: the same text as Rust's.
    fn as_in_rust(&self, twin: &Limiter, cost: u32, now: u64) {
        let place = Memory::room::<ratecell_decision>(0);
        // SAFETY: a limiter, a key of no bytes, a place for a decision.
        unsafe {
            ratecell_limiter_check_at(self.limiter.get(), core::ptr::null(), 0, cost, now, place.pointer())
        };
        let decided: ratecell_decision = place.value(0);
        self.fields(&decided);

        let decision = twin.check_at("", cost, now);
        let headers = Headers::new(&self.policy);
        let headers = match &self.name {
            None => Ok(headers),
            Some(name) => name.to_str().map_err(|_| ()).and_then(|name| headers.named(name).map_err(|_| ())),
        };
        // By the wall clock, which goes on between the two.
        let timeless = (0..).zip(FIELDS).filter(|(_, field)| *field != Field::XRateLimitResetUnix);
        for (header, field) in timeless {
            let rust = headers.map(|headers| {
                headers.value(field, &decision).map_or(String::new(), |value| value.to_string())
            });
            let c = self.value(header, &decided);
            assert_eq!(c.ok(), rust.ok(), "{field:?} of {decision:?} in C and in Rust");
        }
    }
}

fn is_printable(name: &CStr) -> bool {
    name.to_bytes().iter().all(|byte| (b' '..=b'~').contains(byte))
}

/// What a field of digits says of a decision; `None` where it is not to be sent.
fn number(field: Field, decision: &ratecell_decision) -> Option<u64> {
    match field {
        Field::XRateLimitLimit => Some(decision.limit),
        Field::XRateLimitRemaining => Some(decision.remaining),
        Field::XRateLimitReset => Some(decision.reset_after_ns.div_ceil(SECOND)),
        Field::RetryAfter => {
            let sent = decision.outcome == RATECELL_DENIED as i32 && decision.retry_after_ns != u64::MAX;
            sent.then(|| decision.retry_after_ns.div_ceil(SECOND).max(1))
        }
        _ => None,
    }
}

/// A text of digits alone; `None` for an empty one.
fn digits(text: &str) -> Option<u64> {
    assert!(text.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}: expected digits");
    (!text.is_empty()).then(|| text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}")))
}

fn unix_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970").as_nanos()
}

/// A structured list of items.
fn items(text: &str) -> Vec<Item> {
    let list: List = Parser::new(text).parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let item = |entry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(list) => panic!("{text:?}: expected items, not {list:?}"),
    };
    list.into_iter().map(item).collect()
}

fn name(item: &Item) -> String {
    let name = item.bare_item.as_string().unwrap_or_else(|| panic!("{item:?}: expected a String"));
    name.as_str().to_owned()
}

fn integer(item: &Item, key: &str) -> Option<u64> {
    let integer =
        item.params.get(key)?.as_integer().unwrap_or_else(|| panic!("{item:?}: expected an Integer {key}"));
    Some(u64::try_from(i64::from(integer)).unwrap_or_else(|_| panic!("{item:?}: expected {key} from 0 on")))
}

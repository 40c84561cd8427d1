//! The HTTP fields of any decisions: lines of known names, whose values are structured fields or digits, and are those
//! decisions'.

use core::ffi::c_char;
use std::ffi::CString;

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::{
    RATECELL_ALLOWED, RATECELL_ASKED, RATECELL_DENIED, RATECELL_EINVAL, RATECELL_ENAME,
};
use ratecell::ffi::{
    ratecell_answer, ratecell_config, ratecell_decision, ratecell_fields, ratecell_limiter_check_at,
    ratecell_style,
};
use ratecell::fields::{Answer, Fields, Label, Style, Styles};
use ratecell::{Limiter, Policy};
use sfv::{Item, List, ListEntry, Parser};

use crate::limiter::CLimiter;
use crate::memory::Memory;
use crate::policies::{Number, PolicyText};
use crate::text::written;

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
    styles: u32,
    requests: [(Number, Number); 3],
    next_ns: Number,
    now_unix_ns: u64,
    partition: Option<[u8; 3]>,
}

impl Case {
    pub fn run(self) {
        let text = self.policy.to_c();
        let Some(policy) = text.to_str().ok().and_then(|text| text.parse::<Policy>().ok()) else { return };
        let config = ratecell_config { max_keys: 1, ..ratecell_config::default() };
        let limiter = CLimiter::new(&text, Some(&config)).expect("a limiter of a policy");
        let twin = Limiter::builder(policy.clone()).max_keys(1).build().expect("a limiter of a policy");
        let name = self.name.map(|bytes| {
            let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            CString::new(&bytes[..len]).expect("no NUL is left")
        });
        let partition = self.partition.map(|bytes| bytes[..usize::from(bytes[0]) % 4].to_vec());
        let asker = Asker { limiter, policy, name, partition, now_unix_ns: self.now_unix_ns };

        let decision = self.decision();
        asker.fields(&decision);
        // Each set of styles is a number below 512, and beyond are more that are none.
        asker.styles(self.styles % 1024, &decision);
        let mut now = 0;
        for (wait, cost) in self.requests {
            now += wait.get();
            asker.as_in_rust(&twin, cost.cost(), now, self.styles % 512);
        }
    }

    /// One outcome in six is none, and layers go beyond the policy's.
    fn decision(&self) -> ratecell_decision {
        let Self { limit, remaining, retry_after_ns, reset_after_ns, .. } = *self;
        ratecell_decision {
            limit,
            remaining,
            retry_after_ns,
            reset_after_ns,
            delay_ns: 0,
            outcome: i32::from(self.outcome % 6),
            layer: u32::from(self.layer % 12),
            next_ns: self.next_ns.get(),
            given_back: 0,
            notes: 0,
        }
    }
}

/// Asks for fields, and checks the answers.
struct Asker {
    limiter: CLimiter,
    policy: Policy,
    name: Option<CString>,
    partition: Option<Vec<u8>>,
    now_unix_ns: u64,
}

impl Asker {
    fn text(&self, styles: u32, decision: &ratecell_decision) -> Result<String, i32> {
        let partition = self.partition.as_deref();
        let answer = ratecell_answer {
            limiter: self.limiter.get(),
            decision,
            name: self.name.as_ref().map_or(core::ptr::null(), |name| name.as_ptr()),
            unit: core::ptr::null(),
            partition: partition.map_or(core::ptr::null(), |bytes| bytes.as_ptr().cast()),
            partition_len: partition.map_or(0, <[u8]>::len),
            reserved: 0,
        };
        written("ratecell_fields", |buffer: *mut c_char, len| {
            // SAFETY: an answer with a limiter, a decision, texts with a NUL or none, bytes of that length or none; a
            // buffer as `written` has it.
            unsafe { ratecell_fields(styles, &answer, 1, self.now_unix_ns, buffer, len) }
        })
    }

    /// The fields as names and values; `None` where there is no answer, which the status says.
    fn lines(&self, styles: u32, decision: &ratecell_decision) -> Option<Vec<(String, String)>> {
        let text = self.text(styles, decision);
        if let Some(expected) = self.refusal(decision) {
            assert_eq!(text, Err(expected as i32), "{decision:?} named {:?}", self.name);
            return None;
        }
        let text = text.unwrap_or_else(|status| panic!("{styles} of {decision:?}: status {status}"));
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}: expected whole lines");
        let line = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{text:?}: expected a name"));
            (name.to_owned(), value.to_owned())
        };
        Some(text.lines().map(line).collect())
    }

    /// Why there is no text of a decision.
    fn refusal(&self, decision: &ratecell_decision) -> Option<ratecell::ffi::ratecell_status> {
        if self.name.as_ref().is_some_and(|name| name.is_empty() || !is_printable(name.to_bytes())) {
            return Some(RATECELL_ENAME);
        }
        let layers = self.policy.resolved().count();
        let is_one = decision.outcome <= RATECELL_ASKED as i32 && (decision.layer as usize) < layers;
        (!is_one).then_some(RATECELL_EINVAL)
    }

    /// A set of styles is right if all of them are, and no two write a field of one name.
    fn styles(&self, styles: u32, decision: &ratecell_decision) {
        if self.refusal(decision).is_none() {
            let right = of_bits(styles).is_some();
            let text = self.text(styles, decision);
            assert_eq!(text.is_ok(), right, "styles {styles:#b}: {text:?}");
            assert!(right || text == Err(RATECELL_EINVAL as i32), "styles {styles:#b}: {text:?}");
        }
    }

    /// What each field must say of a decision, made by a limiter or not.
    fn fields(&self, decision: &ratecell_decision) {
        if let Some(lines) = self.lines(ratecell_style::RATECELL_STYLE_DRAFT11 as u32, decision) {
            for (name, value) in &lines {
                match name.as_str() {
                    "RateLimit" => self.rate_limit(value, decision),
                    "RateLimit-Policy" => self.rate_limit_policy(value),
                    "Retry-After" => assert_eq!(Some(digits(value)), retry_after(decision), "{decision:?}"),
                    _ => panic!("{lines:?}: expected no field of that name"),
                }
            }
            let has = |name| lines.iter().any(|(other, _)| other == name);
            assert!(has("RateLimit-Policy"), "{lines:?}: expected the policy");
            assert_eq!(has("Retry-After"), retry_after(decision).is_some(), "{lines:?} of {decision:?}");
        }
        if let Some(lines) = self.lines(ratecell_style::RATECELL_STYLE_GITHUB as u32, decision) {
            for (name, value) in &lines {
                let reset = u128::from(self.now_unix_ns) + u128::from(decision.reset_after_ns);
                let expected = match name.as_str() {
                    "X-RateLimit-Limit" => Some(decision.limit),
                    "X-RateLimit-Remaining" => Some(decision.remaining),
                    "X-RateLimit-Used" => Some(decision.limit.saturating_sub(decision.remaining)),
                    "X-RateLimit-Reset" => u64::try_from(reset.div_ceil(SECOND.into())).ok(),
                    "Retry-After" => retry_after(decision),
                    _ => panic!("{lines:?}: expected no field of that name"),
                };
                assert_eq!(Some(digits(value)), expected, "{name}: {value} of {decision:?}");
            }
        }
    }

    fn rate_limit(&self, text: &str, decision: &ratecell_decision) {
        let [item] = &items(text)[..] else { panic!("{text:?}: expected one item") };
        assert_eq!(name(item), self.layer_name(decision.layer as usize), "the name in {text:?}");
        let remaining = decision.remaining.min(LARGEST);
        assert_eq!(integer(item, "r"), Some(remaining), "{text:?} of {decision:?}");
        let capacity = self.policy.resolved().map(|layer| layer.capacity).min().unwrap_or(0);
        let some_used = decision.remaining < capacity;
        if some_used && decision.next_ns > 0 && decision.outcome == RATECELL_ALLOWED as i32 {
            let next = decision.next_ns.div_ceil(SECOND).max(1);
            assert_eq!(integer(item, "t"), Some(next), "{text:?} of {decision:?}");
        }
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
    fn as_in_rust(&self, twin: &Limiter, cost: u32, now: u64, styles: u32) {
        let place = Memory::room::<ratecell_decision>(0);
        // SAFETY: a limiter, a key of no bytes, a place for a decision.
        let status = unsafe {
            ratecell_limiter_check_at(self.limiter.get(), core::ptr::null(), 0, cost, now, place.pointer())
        };
        let decided: ratecell_decision = place.value(0);
        assert_eq!(status, decided.outcome, "{decided:?}");
        self.fields(&decided);

        let decision = twin.check_at("", cost, now);
        let Some(styles_of) = of_bits(styles) else { return };
        let label = Label::new();
        let label = match &self.name {
            None => Some(label),
            Some(name) => name.to_str().ok().and_then(|name| label.named(name).ok()),
        };
        let rust = label.map(|label| {
            let label = match self.partition.as_deref() {
                None => label,
                Some(partition) => label.partition(partition).expect("a short partition"),
            };
            Fields::new(styles_of, &[Answer::of(&self.policy, label, decision)], self.now_unix_ns).to_string()
        });
        let c = self.text(styles, &decided);
        assert_eq!(c.ok(), rust, "{styles:#b} of {decision:?} in C and in Rust");
    }
}

/// The styles of bits, if all are known and none writes another's field.
fn of_bits(bits: u32) -> Option<Styles> {
    let chosen = |number: &usize| bits & (1 << number) != 0;
    if bits >> Style::ALL.len() != 0 {
        return None;
    }
    let mut styles = (0..Style::ALL.len()).filter(chosen).map(|number| Style::ALL[number]);
    let first = Styles::from(styles.next()?);
    styles.try_fold(first, |styles, style| styles.and(style).ok())
}

fn is_printable(name: &[u8]) -> bool {
    name.iter().all(|byte| (b' '..=b'~').contains(byte))
}

/// What Retry-After says of a decision; `None` where it is not to be sent.
fn retry_after(decision: &ratecell_decision) -> Option<u64> {
    let sent = decision.outcome == RATECELL_DENIED as i32 && decision.retry_after_ns != u64::MAX;
    sent.then(|| decision.retry_after_ns.div_ceil(SECOND).max(1))
}

/// A text of digits alone.
fn digits(text: &str) -> u64 {
    assert!(!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}: expected digits");
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
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

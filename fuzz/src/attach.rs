//! Memory of any content as a region, as it may be where others write to it, and calls on what attaches to it: the
//! answers may be any that a limiter gives, and nothing but the memory is touched.
//!
//! | module | what |
//! | --- | --- |
//! | [`region`] | the memory, and what is changed in it |
//! | [`guest`] | a limiter that attached to it, and the calls on it |

use core::ffi::CStr;
use core::ptr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{env, fs, process};

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::{
    RATECELL_ECONFIG, RATECELL_EREGION_BOOT, RATECELL_EREGION_DAMAGED, RATECELL_EREGION_LAYERS,
    RATECELL_EREGION_LAYOUT, RATECELL_EREGION_MAX_KEYS, RATECELL_EREGION_NO_WORD, RATECELL_EREGION_NONE,
    RATECELL_EREGION_POLICY, RATECELL_EREGION_SMALL, RATECELL_EREGION_TIME_NAMESPACE,
    RATECELL_EREGION_WHEN_FULL, RATECELL_EREGION_WORDS,
};
use ratecell::ffi::{
    RATECELL_AT, RATECELL_NAMES, ratecell_config, ratecell_limiter_stats, ratecell_policy_format,
    ratecell_region_attach, ratecell_region_init, ratecell_region_size, ratecell_stats,
};

use ratecell::{BuildError, KeyOrder, Limiter, Region, RegionError, RegionField, Watch};

mod guest;
mod region;

use crate::limiter::CLimiter;
use crate::memory::Memory;
use crate::policies::PolicyText;
use guest::{Call, Guest};
use region::Change;

/// Memory, who attaches to it, and what is called then.
#[derive(Arbitrary, Debug)]
pub struct Script {
    start: Start,
    asked: Asked,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
enum Start {
    Region(Made),
    Words(Vec<u64>),
}

/// A region that was made, used and changed.
#[derive(Arbitrary, Debug)]
struct Made {
    policy: PolicyText,
    max_keys: u8,
    when_full: u8,
    calls: Vec<Call>,
    changes: Vec<Change>,
    /// Whether the checksum is made right again.
    sealed: bool,
}

#[derive(Arbitrary, Debug)]
struct Asked {
    /// The policy that made the region, if none is said.
    policy: Option<PolicyText>,
    max_keys: u8,
    when_full: u8,
    /// Bytes that are missing at the end.
    less: u8,
}

fn config(max_keys: u8, when_full: u8) -> ratecell_config {
    ratecell_config {
        max_keys: u64::from(max_keys) % 64,
        when_full: u64::from(when_full) % 5,
        ..ratecell_config::default()
    }
}

impl Script {
    pub fn run(self) {
        if !cfg!(getrandom_backend = "custom") {
            panic!("keys fall at random: expected a build by ci/fuzz.sh");
        }
        let (memory, own, whole) = match &self.start {
            Start::Region(made) => match made.run() {
                Some(memory) => (memory, Some(&made.policy), made.is_whole()),
                None => return,
            },
            Start::Words(words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                (Memory::of(&bytes), None, false)
            }
        };
        let Some(policy) = self.asked.policy.as_ref().or(own) else { return };
        let text = policy.to_c();
        let place = Memory::new(512, 0);
        let config = ratecell_config {
            why: place.pointer(),
            why_len: place.bytes().len(),
            ..config(self.asked.max_keys, self.asked.when_full)
        };
        let len = memory.bytes().len().saturating_sub(self.asked.less.into());
        let before = memory.bytes()[..len].to_vec();
        // SAFETY: memory of that length that stays until the limiter is gone, texts and a config, as everywhere.
        let made = CLimiter::made(|limiter| unsafe {
            ratecell_region_attach(memory.pointer(), len, text.as_ptr(), &config, limiter)
        });
        let why = CStr::from_bytes_until_nul(place.bytes()).expect("a NUL").to_str().expect("UTF-8");
        look_into(&memory, len);
        let after = &memory.bytes()[..len];
        // In a damaged region a word may be of another generation, and is carried to the one in force; so only what stands
        // before the sections stays.
        let stays = if whole { len } else { region::BEFORE_SECTIONS.min(len) };
        expect_no_change(&before[..stays], &after[..stays]);
        match made {
            Err(status) => {
                refused(status, &text, why);
                let same_policy = self.asked.policy.is_none() && self.asked.less == 0;
                let any = config.max_keys == 0 && config.when_full == 0;
                assert!(
                    !(whole && same_policy && any),
                    "{text:?}: status {status}: expected its own region to do"
                );
            }
            Ok(limiter) => {
                assert_eq!(why, "", "{text:?}: expected nothing to be wrong with what attaches");
                let mut guest = Guest::new(limiter, &memory, len, &text, whole);
                self.calls.iter().for_each(|call| guest.call(call));
            }
        }
    }
}

/// Attaching raises the greatest capacity that the region notes for each of its 8 layers. Nothing else changes, nor does
/// anything by a peek.
fn expect_no_change(before: &[u8], after: &[u8]) {
    let words = |bytes: &[u8]| bytes.chunks_exact(8).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let both = (0_usize..).zip(words(before).into_iter().zip(words(after)));
    let changed: Vec<_> = both.filter(|(_, (before, after))| before != after).collect();
    for (place, (before, after)) in &changed {
        let is_near = changed.first().is_some_and(|(first, _)| place - first < 8);
        let is_raised = number(before) < number(after) && number(after) <= u64::from(u32::MAX);
        assert!(is_near && is_raised, "word {place}: {before:?} became {after:?}: expected it to stay");
    }
    let end = before.len() - before.len() % 8;
    assert_eq!(before.get(end..), after.get(end..), "expected the last bytes to stay");
}

/// Looks at a region again and again, while what stands in its sections becomes something else.
fn watch(region: Region, file: &fs::File, bytes: &[u8]) {
    let slots = region.stats().slots;
    let mut watch = Watch::new(region);
    let mut sections = bytes.get(region::BEFORE_SECTIONS..).unwrap_or_default().to_vec();
    for order in [KeyOrder::Used, KeyOrder::Admitted, KeyOrder::Denied, KeyOrder::Hash] {
        let look = watch.look();
        let named = watch.region().denied_keys();
        assert!(named.is_empty() || look.denied.is_some());
        assert!(named.iter().all(|key| key.name.as_ref().is_none_or(|name| name.as_bytes().len() <= 40)));
        assert!(
            look.stats.live <= slots && look.admitted.is_none_or(|admitted| admitted.least <= admitted.most)
        );
        let keys = watch.keys(order, 10);
        assert!(keys.len() <= 10 && keys.iter().all(|key| key.hash >> 40 == 0), "{keys:?}");
        let _ = (watch.key("key"), watch.region().peek("key"));
        let by = 16.min(sections.len());
        sections.rotate_left(by);
        file.write_all_at(&sections, region::BEFORE_SECTIONS as u64).expect("room");
    }
}

/// Who follows the region's own policy, and who reads it as a file, at which nothing may be written: they find the same.
fn look_into(memory: &Memory, len: usize) {
    // SAFETY: memory of at least that length, which outlives the limiter, and is used by atomics alone.
    let shared = unsafe { ratecell::Memory::from_raw_parts(memory.pointer(), len) }.expect("aligned");
    let follower = Limiter::following().attach(&shared);
    // In memory, where there is a folder of it.
    let folder = Path::new("/dev/shm");
    let folder = if folder.is_dir() { folder.to_owned() } else { env::temp_dir() };
    let file = folder.join(format!("ratecell-fuzz-{}", process::id()));
    fs::write(&file, &memory.bytes()[..len]).expect("a file");
    let region = Region::read(&file);
    let opened = fs::File::options().write(true).open(&file).expect("the file");
    fs::remove_file(&file).expect("the file");
    match (follower, region) {
        (Ok(follower), Ok(region)) => {
            assert!(follower.policy().resolved().eq(region.policy().resolved()), "{region:?}, {follower:?}");
            for now in [0, 1 << 40, region.now_ns(), u64::MAX] {
                let stats = region.stats_at(now);
                assert_eq!(stats, follower.stats_at(now), "at {now}: expected one answer");
                assert!(stats.live <= stats.slots && stats.bytes < len, "{stats:?} in {len} bytes");
                let _ = (follower.check_at("key", 0, now), region.peek_at("key", now));
            }
            assert_eq!(follower.denied(), region.denied(), "expected one count");
            watch(region, &opened, &memory.bytes()[..len]);
        }
        // A reader goes by the wall clock, whatever the region's is.
        (
            Err(BuildError::Region(RegionError::Differs {
                field: RegionField::Boot | RegionField::TimeNamespace,
                ..
            })),
            _,
        ) => {}
        // Where a file has no whole header, memory is only said to be too small.
        (Err(BuildError::Region(RegionError::TooSmall { .. })), Err(BuildError::File { .. }))
            if len < 512 => {}
        (Err(follower), Err(BuildError::File { error, .. })) => {
            assert_eq!(follower, BuildError::Region(error), "expected one reason");
        }
        (follower, region) => {
            let (follower, region) = (follower.expect_err("refused"), region.expect_err("refused"));
            assert_eq!(follower, region, "expected one reason");
        }
    }
}

/// An error that there is, and that is explained.
fn refused(status: i32, policy: &CStr, why: &str) {
    assert!(!why.is_empty(), "{policy:?}: status {status}: expected a sentence");
    // SAFETY: a text with its NUL, and no buffer.
    let of_policy = unsafe { ratecell_policy_format(policy.as_ptr(), ptr::null_mut(), 0) };
    if of_policy < 0 || status == RATECELL_ECONFIG as i32 {
        return;
    }
    let known = [
        RATECELL_EREGION_SMALL,
        RATECELL_EREGION_NONE,
        RATECELL_EREGION_DAMAGED,
        RATECELL_EREGION_LAYOUT,
        RATECELL_EREGION_LAYERS,
        RATECELL_EREGION_POLICY,
        RATECELL_EREGION_WORDS,
        RATECELL_EREGION_MAX_KEYS,
        RATECELL_EREGION_WHEN_FULL,
        RATECELL_EREGION_BOOT,
        RATECELL_EREGION_TIME_NAMESPACE,
        RATECELL_EREGION_NO_WORD,
    ];
    // Those of a policy: one that the words there cannot hold.
    let known = known.iter().any(|known| *known as i32 == status) || (-19..=-10).contains(&status);
    assert!(known, "{policy:?}: status {status}: expected one of a region or a policy");
}

impl Made {
    /// Whether nobody but a limiter wrote to it.
    fn is_whole(&self) -> bool {
        let changed = self.calls.iter().any(|call| matches!(call, Call::Change(_)));
        self.changes.is_empty() && !changed
    }

    /// Whether it has names, of which there are so many bytes that few regions have them.
    fn names_keys(&self) -> bool {
        self.when_full >= 224
    }

    /// `None` where a region cannot be made so.
    fn run(&self) -> Option<Memory> {
        let text = self.policy.to_c();
        let config = config(self.max_keys, self.when_full);
        // The defaults are too many to try.
        let flags = if self.names_keys() { u64::from(RATECELL_NAMES) } else { 0 };
        let config = ratecell_config { max_keys: config.max_keys.max(1), flags, ..config };
        // SAFETY: a text with its NUL, and a config.
        let len = unsafe { ratecell_region_size(text.as_ptr(), &config) };
        let memory = Memory::new(len, 0);
        // SAFETY: as above; memory of that length that stays until the limiter is gone.
        let made = CLimiter::made(|limiter| unsafe {
            ratecell_region_init(memory.pointer(), len, text.as_ptr(), &config, limiter)
        });
        let Ok(limiter) = made else {
            assert_eq!(len, 0, "{text:?} in {len} bytes: status {made:?}: expected a region");
            return None;
        };
        let place = Memory::room::<ratecell_stats>(0);
        // SAFETY: a limiter, and room for its stats.
        let status = unsafe {
            ratecell_limiter_stats(limiter.get(), RATECELL_AT, 0, place.pointer(), place.bytes().len())
        };
        assert_eq!(status, 0, "ratecell_limiter_stats");
        let room = place.value::<ratecell_stats>(0).slots / 7 * 5;
        assert!((config.max_keys..config.max_keys + 5).contains(&room), "room for {room} of {config:?}");
        let mut guest = Guest::new(limiter, &memory, len, &text, true);
        self.calls.iter().for_each(|call| guest.call(call));
        drop(guest);
        self.changes.iter().for_each(|change| change.make(&memory));
        if self.sealed {
            region::seal(&memory);
        }
        Some(memory)
    }
}

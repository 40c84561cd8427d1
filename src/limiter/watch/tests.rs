use std::path::PathBuf;

use super::*;
use crate::limiter::Limiter;
use ratecell_core::{Policy, Request};

/// A file of a name of its own, gone at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("ratecell-watch-{name}-{}", std::process::id())))
    }

    fn limiter(&self, policy: &str, max_keys: usize) -> Limiter {
        let policy: Policy = policy.parse().expect(policy);
        Limiter::builder(policy).max_keys(max_keys).open(&self.0).expect("a region")
    }

    fn watch(&self) -> Watch {
        Watch::new(Region::read(&self.0).expect("a region"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_sample_bounds_what_was_admitted() {
    let place = Place::new("sample");
    let limiter = place.limiter("100/h & fixed_window 1000/1d", 1_000_000);
    let mut watch = place.watch();
    assert_eq!(watch.look().admitted, None);
    for (rounds, keys) in [(1, 50_000), (3, 20_000), (1, 0)] {
        for key in (0..keys * rounds).map(|number: u64| number % keys) {
            assert!(limiter.check(key.to_ne_bytes()).is_allowed());
        }
        let look = watch.look();
        let Admitted { least, most, over } = look.admitted.expect("two looks");
        let all = rounds * keys;
        assert!(least <= all && all <= most, "{all}: {look:?}");
        // Four standard errors of a sixth of some 10,000s.
        assert!(most - least <= all / 5 + 400, "{all}: {look:?}");
        assert!(!over.is_zero() && look.sampled == (32_768, 200_000));
    }
}

#[test]
fn keys_are_ordered_by_what_is_asked() {
    let place = Place::new("keys");
    let limiter = place.limiter("100/h & fixed_window 1000/1d", 600);
    let mut watch = place.watch();
    for (key, units) in [("a", 10), ("b", 100), ("c", 30)] {
        assert!(limiter.check_n(key, units).is_allowed());
    }
    watch.look();
    assert!(limiter.check_n("a", 5).is_allowed());
    watch.look();
    let used = |keys: Vec<KeyUse>| keys.iter().map(|key| key.used).collect::<Vec<_>>();
    let by = |order, most| used(watch.keys(order, most));
    // Of 100 an hour: the first layer, which is used most.
    assert_eq!(by(KeyOrder::Used, 10), [100, 30, 15]);
    assert_eq!((by(KeyOrder::Used, 1), by(KeyOrder::Admitted, 1)), (vec![100], vec![15]));
    assert_eq!(by(KeyOrder::Used, 0), []);
    let hashes: Vec<_> = watch.keys(KeyOrder::Hash, 10).iter().map(|key| key.hash).collect();
    assert!(hashes.is_sorted() && hashes.len() == 3);
    assert_eq!(watch.keys_where(KeyOrder::Used, 10, |hash| hash == hashes[1]).len(), 1);

    let key = |name| watch.key(name).expect("it was charged");
    assert_eq!((key("a").admitted, key("c").admitted, key("b").limit), (5, 0, 100));
    assert_eq!((key("a").retry_after, key("a").layer), (Some(Duration::ZERO), 0));
    assert!(key("b").retry_after.is_some_and(|wait| !wait.is_zero()));
    assert!(hashes.contains(&key("a").hash) && watch.key("d").is_none());
}

#[test]
fn what_words_do_not_say_is_none() {
    let place = Place::new("in-flight");
    let limiter = place.limiter("in_flight 10 hold=1h", 600);
    let mut watch = place.watch();
    watch.look();
    let (_, permit) = limiter.reserve(Request::new("org:7").cost(4)).expect("a permit");
    let look = watch.look();
    assert_eq!((look.admitted, look.stats.live, watch.quiet()), (None, 1, Duration::ZERO));
    let key = watch.keys(KeyOrder::Used, 1)[0];
    assert_eq!((key.used, key.limit), (4, 10));
    assert_eq!(limiter.release(permit.expect("a permit")).given_back(), 4);
}

#[test]
fn a_change_makes_it_outdated() {
    let place = Place::new("change");
    let limiter = place.limiter("100/h", 600);
    let watch = place.watch();
    assert!(!watch.region().is_outdated());
    limiter.change("200/h".parse::<Policy>().expect("a policy")).expect("alike");
    assert!(watch.region().is_outdated() && !place.watch().region().is_outdated());
}

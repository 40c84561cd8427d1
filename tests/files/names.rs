//! Files that name denied keys: by each way of asking, for those who look in, and for nobody where they were not asked for.

use std::time::Duration;

use ratecell::{
    BuildError, Claim, Decision, DeniedKey, KeyOrder, Limiter, Memory, Policy, Region, Request, Watch,
};

use super::{Scratch, builder};

fn policy(text: &str) -> Policy {
    text.parse().expect(text)
}

/// Name and count of each, the names in order.
fn named(keys: Vec<DeniedKey>) -> Vec<(String, u64)> {
    let name = |key: DeniedKey| (key.name.map_or("?".to_owned(), |name| name.to_string()), key.denied);
    let mut named: Vec<_> = keys.into_iter().map(name).collect();
    named.sort();
    named
}

#[test]
fn whoever_is_denied_is_named_whichever_way_it_asks() {
    for text in ["3/h", "fixed_window 3/1h", "3/h & sliding_window 9/1d", "leaky_queue 3/h queue=2"] {
        let scratch = Scratch::new("names-ways");
        let limiter =
            Limiter::builder(policy(text)).max_keys(1_000).names(true).open(&scratch.0).expect(text);
        let region = Region::read(&scratch.0).expect("a region");
        assert_eq!((limiter.denied(), region.denied(), region.denied_keys()), (Some(0), Some(0), Vec::new()));
        let full = ["check", "n", "decide", "batch", "all", "reserve", "view", "within"];
        for key in full {
            assert!(limiter.check_at(key, 3, 0).is_allowed(), "{text}: {key}");
        }
        let hashed = Request::hashed(7).at(0);
        assert!(limiter.decide(hashed.cost(3)).is_allowed());
        assert_eq!(region.denied(), Some(0), "an allowed request is none");

        let at = |key| Request::new(key).at(0);
        assert!(!limiter.check_at("check", 1, 0).is_allowed());
        assert!(!limiter.check_at("n", 2, 0).is_allowed());
        assert!(!limiter.decide(hashed).is_allowed());
        assert!(!limiter.decide(at("decide").with_next()).is_allowed());
        assert!(!limiter.decide(at("within").within(Duration::ZERO)).is_allowed());
        let mut decisions = [Decision::default(); 3];
        limiter.decide_batch(&[at("batch"), at("new"), at("batch")], &mut decisions);
        assert_eq!(decisions.map(|decision| decision.is_allowed()), [false, true, false], "{text}");
        let claims = [at("all"), at("other")].map(|request| Claim { limiter: &limiter, request });
        let _ = Limiter::decide_all(&claims, &mut decisions[..2]);
        assert!(limiter.reserve(at("reserve")).expect("it reserves").1.is_none());
        let view = limiter.with_policy(policy(text)).expect("the same");
        assert!(!view.check_at("view", 1, 0).is_allowed());
        // What asks for nothing is not denied, and neither is what is never allowed.
        let _ = (limiter.peek("check"), limiter.check_at("check", 0, 0), limiter.check_at("check", 1_000, 0));

        assert_eq!((limiter.denied(), region.denied()), (Some(10), Some(10)), "{text}");
        // A key may have lost its line to another, and no other is named.
        let mut expected: Vec<_> =
            full.iter().map(|key| (key.to_string(), 1 + u64::from(*key == "batch"))).collect();
        expected.push(("?".to_owned(), 1));
        let named = named(region.denied_keys());
        assert!(named.len() > 5 && named.iter().all(|key| expected.contains(key)), "{text}: {named:?}");
    }
}

#[test]
fn a_region_that_was_not_asked_for_names_has_none() {
    let scratch = Scratch::new("names-none");
    let limiter = builder().open(&scratch.0).expect("made");
    while limiter.check_at("ann", 1, 0).is_allowed() {}
    let region = Region::read(&scratch.0).expect("a region");
    assert_eq!((limiter.denied(), region.denied(), region.denied_keys()), (None, None, Vec::new()));
    let refused = builder().names(true).open(&scratch.0).expect_err("no names").to_string();
    let sentence = "the region's names: none are kept; expected a region that was made with names";
    assert!(refused.ends_with(sentence), "{refused}");
    // Nor has a limiter that nobody looks into.
    assert_eq!(builder().names(true).build().err(), Some(BuildError::Names));
}

/// Its maker has decided, for all its limiters and for memory as for files.
#[test]
fn whoever_attaches_names_too() {
    let memory = Memory::shared(builder().names(true).region_bytes().expect("a size")).expect("memory");
    assert_eq!(builder().names(true).region_bytes().expect("a size") - 262_144, {
        let without = builder().region_bytes().expect("a size");
        without.next_multiple_of(128)
    });
    let maker = builder().names(true).init(&memory).expect("made");
    let guest = Limiter::following().attach(&memory).expect("there");
    while maker.check_at("ann", 1, 0).is_allowed() {}
    assert!(!guest.check_at("ann", 1, 0).is_allowed());
    assert_eq!((maker.denied(), guest.denied()), (Some(2), Some(2)));
}

#[test]
fn a_watch_says_who_is_denied_now() {
    let scratch = Scratch::new("names-watch");
    let limiter = builder().names(true).open(&scratch.0).expect("made");
    let long = "a key that is so long that its name is cut, by twenty-four bytes";
    for key in ["ann", "bob", long] {
        assert!(limiter.check_n(key, 3).is_allowed());
        assert!(!limiter.check(key).is_allowed());
    }
    let mut watch = Watch::new(Region::read(&scratch.0).expect("a region"));
    assert_eq!((watch.look().denied, watch.keys(KeyOrder::Denied, 9)), (Some(3), Vec::new()));
    for key in ["bob", long, "bob"] {
        assert!(!limiter.check(key).is_allowed());
    }
    watch.look_ahead();
    assert!(!limiter.check("bob").is_allowed());
    assert_eq!(watch.look().denied, Some(7));
    let keys = watch.keys(KeyOrder::Denied, 9);
    let names: Vec<_> = keys.iter().map(|key| watch.name(key.hash).expect("a name").to_string()).collect();
    assert_eq!(names, ["bob".to_owned(), format!("{}…", &long[..32])]);
    assert_eq!([keys[0].denied, keys[1].denied, keys[0].used, keys[0].limit], [3, 1, 3, 3]);
    let by_use = watch.keys(KeyOrder::Used, 9);
    let mut known: Vec<_> =
        by_use.iter().filter_map(|key| watch.name(key.hash)).map(ToString::to_string).collect();
    known.sort();
    assert_eq!((known.len(), &*known[1], watch.key("ann").map(|key| key.denied)), (3, "ann", Some(0)));
}

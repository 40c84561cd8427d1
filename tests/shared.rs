//! Tables in memory and files that processes share: what must agree, what may differ, and what is refused.
#![cfg(target_os = "linux")]

use ratecell::{
    BuildError, Claim, Decision, Limiter, LimiterBuilder, Memory, Outcome, Policy, RegionError, RegionField,
    Request, WhenFull,
};

const WORDS: [&str; 8] = [
    "10/s",
    "sliding_window 10/s",
    "fixed_window 10/s",
    "fixed_window 10/s start=first",
    "calendar_window 10/day tz=Europe/Berlin at=06:00",
    "token_bucket 10/s capacity=10 mode=interval",
    "token_bucket 10/s capacity=10 mode=interval_first",
    "10/s & fixed_window 100/m",
];

fn builder(policy: &str) -> LimiterBuilder {
    Limiter::builder(policy.parse::<Policy>().expect("a policy"))
}

/// A region for that many keys, and the limiter that made it.
fn made(policy: &str, max_keys: usize) -> (Memory, Limiter) {
    let builder = builder(policy).max_keys(max_keys);
    let memory = Memory::shared(builder.region_bytes().expect("bytes")).expect("memory");
    let limiter = builder.init(&memory).expect("a region");
    (memory, limiter)
}

/// A limiter of a rate of its own in a region.
fn beside(policy: &str, memory: &Memory) -> Result<Limiter, BuildError> {
    Limiter::following().attach(memory)?.with_policy(policy.parse().expect("a policy"))
}

/// What a builder would make its region with.
fn policy_of(builder: &LimiterBuilder) -> String {
    builder.clone().build().expect("a limiter").policy().to_string()
}

fn refusal(result: Result<Limiter, BuildError>) -> BuildError {
    result.expect_err("a refusal")
}

fn field(error: &BuildError) -> Option<RegionField> {
    match error {
        BuildError::Region(RegionError::Differs { field, .. }) => Some(*field),
        _ => None,
    }
}

#[test]
fn whoever_attaches_decides_on_the_same_words() {
    for policy in WORDS {
        let (memory, first) = made(policy, 100);
        let second = builder(policy).attach(&memory).expect("attached");
        let alone = builder(policy).build().expect("a limiter");
        for now in (0..40).map(|step| step * 70_000_000) {
            let by = [&first, &second][usize::from(now % 3 == 0)];
            assert_eq!(by.check_at("key", 2, now), alone.check_at("key", 2, now), "{policy} at {now}");
        }
        assert_eq!(first.epoch(), second.epoch());
        assert_eq!(first.stats_at(0), second.stats_at(0));
    }
}

/// The words of a calendar say when their window ends, and so serve any other of the same period.
#[test]
fn another_calendar_goes_on_where_one_ended() {
    const HOUR: u64 = 3_600_000_000_000;
    let (memory, tokyo) = made("calendar_window 3/day tz=+09:00", 100);
    let new_york = builder("calendar_window 3/day tz=-05:00").attach(&memory).expect("attached");
    assert!(tokyo.check_at("key", 3, 13 * HOUR).is_allowed());
    let denied = new_york.check_at("key", 1, 14 * HOUR);
    assert_eq!((denied.outcome(), denied.retry_after_ns()), (Outcome::Denied, 15 * HOUR));
    assert!(new_york.check_at("key", 1, 29 * HOUR).is_allowed());
    assert_eq!(tokyo.check_at("key", 1, 39 * HOUR).remaining(), 1);
    assert_eq!((tokyo.warning(), new_york.warning()), (None, None));
}

#[test]
fn a_region_has_its_own_epoch() {
    let plain = builder("calendar_window 3/day tz=UTC").max_keys(100);
    let memory = Memory::shared(plain.region_bytes().expect("bytes")).expect("memory");
    let builder = plain.epoch(std::time::UNIX_EPOCH);
    assert!(matches!(builder.region_bytes(), Err(BuildError::Epoch)));
    assert_eq!(refusal(builder.clone().init(&memory)), BuildError::Epoch);
    assert_eq!(refusal(builder.attach(&memory)), BuildError::Epoch);
}

/// The table does not know where it stands.
#[test]
fn a_copy_at_another_address_goes_on_alike() {
    let (memory, limiter) = made("10/s", 1_000);
    for key in 0..700_u32 {
        assert!(limiter.check_at(key.to_le_bytes(), 10, 0).is_allowed());
    }
    let path = std::env::temp_dir().join(format!("ratecell-copy-{}", std::process::id()));
    let copied = builder("10/s").max_keys(1_000).open(&path).expect("a file");
    assert!(copied.check_at("key", 1, 0).is_allowed());
    let again = builder("10/s").open(&path).expect("the same file, mapped elsewhere");
    assert_eq!(again.check_at("key", 0, 0).remaining(), 9);
    std::fs::remove_file(&path).expect("removed");
    let there = builder("10/s").attach(&memory).expect("attached");
    for key in 0..700_u32 {
        assert!(!there.check_at(key.to_le_bytes(), 1, 0).is_allowed());
    }
}

#[test]
fn a_rate_may_be_another_over_the_same_words() {
    let (memory, old) = made("10/s burst=20", 100);
    let new = beside("5/s burst=5", &memory).expect("the same words");
    assert_eq!(new.policy().to_string(), "5/s burst=5");
    assert!(old.check_at("key", 4, 0).is_allowed());
    // 400 ms are spent: of 5/s that is 2 units.
    assert_eq!(new.check_at("key", 0, 0).remaining(), 3);
    assert!(new.check_at("key", 3, 0).is_allowed());
    assert!(!new.check_at("key", 1, 0).is_allowed());
    assert_eq!(old.check_at("key", 0, 0).remaining(), 10);
    let other =
        old.with_policy("leaky_queue 10/s queue=19".parse().expect("a policy")).expect("the same words");
    assert_eq!(other.check_at("key", 10, 0).delay_ns(), 1_900_000_000);
}

/// Of a policy that is another only in a burst or the limit of a window everybody has its own.
#[test]
fn another_rate_is_refused_unless_it_is_followed_or_changed() {
    for (held, asked) in [
        ("10/s burst=20", "5/s burst=20"),
        ("10/s burst=20", "leaky_queue 20/s queue=3"),
        ("10/s", "9000000/s"),
        ("token_bucket 6/m capacity=9 mode=interval", "token_bucket 7/m capacity=9 mode=interval"),
        (
            "token_bucket 6/m capacity=9 mode=interval_first",
            "token_bucket 7/m capacity=9 mode=interval_first",
        ),
        ("fixed_window 5/h & 10/s", "fixed_window 5/h & 11/s"),
    ] {
        let (memory, first) = made(held, 100);
        let asked = builder(asked);
        let error = refusal(asked.clone().attach(&memory));
        assert_eq!(field(&error), Some(RegionField::Policy), "{error}");
        let text = format!(
            "the region's policy: `{}` in force; expected `{}` to",
            first.policy(),
            policy_of(&asked)
        );
        assert!(error.to_string().starts_with(&text), "{error}");
        let follower = asked.clone().follow().attach(&memory).expect("it follows");
        assert_eq!(follower.policy(), first.policy());
        // Nothing is put in force that cannot decide.
        if let Err(error) = asked.clone().change().attach(&memory) {
            assert!(matches!(&error, BuildError::Change(_)), "{error}");
            assert_eq!(first.policy().to_string(), follower.policy().to_string());
            continue;
        }
        for limiter in [&first, &follower] {
            assert_eq!(limiter.policy().to_string(), policy_of(&asked));
        }
        assert!(asked.attach(&memory).is_ok());
    }
}

/// A change on attaching is one as any other: what was used stays used, and a burst is changed, too.
#[test]
fn what_attaches_to_change_the_policy_forgives_nothing() {
    let (memory, first) = made("10/h", 100);
    assert!(first.check("key").is_allowed() && first.check_n("key", 9).is_allowed());
    let second = builder("12/h").change().attach(&memory).expect("it changes");
    assert!(first.check_n("key", 2).is_allowed() && !second.check("key").is_allowed());
    let third = builder("12/h burst=13").change().attach(&memory).expect("it changes");
    assert!(second.check("key").is_allowed() && !first.check("key").is_allowed());
    assert_eq!(first.policy().to_string(), "12/h burst=13");
    let follower = builder("12/h burst=20").follow().attach(&memory).expect("it follows");
    assert_eq!((follower.policy(), third.policy()), (first.policy(), first.policy()));
    // Another kind can be followed, and cannot be changed to.
    let window = builder("fixed_window 9/h");
    assert_eq!(window.clone().follow().attach(&memory).expect("it follows").policy(), first.policy());
    assert!(matches!(refusal(window.change().attach(&memory)), BuildError::Change(_)));
    assert_eq!(first.policy().to_string(), "12/h burst=13");
}

/// What one writes within its burst is not from the future for another of a smaller one.
#[test]
fn a_burst_may_shrink_over_words_that_heal_but_not_grow() {
    for (first, second) in [
        ("1/s burst=100 heal=5s", "1/s burst=10 heal=5s"),
        ("1/s burst=10 heal=5s", "100/s burst=10 heal=5s"),
        ("1/s burst=100 heal=5s", "1/s burst=100"),
    ] {
        let (memory, first) = made(first, 100);
        let second = beside(second, &memory).expect("the same words");
        let allowed =
            |limiter: &Limiter| (0..).take_while(|_| limiter.check_at("key", 1, 0).is_allowed()).count();
        let capacity = first.check_at("key", 0, 0).limit() as usize;
        assert_eq!((allowed(&first), allowed(&second), allowed(&first)), (capacity, 0, 0));
        assert!(first.with_policy(Policy::clone(&second.policy())).is_ok());
    }
    for (first, second, expected) in [
        ("1/s burst=10 heal=5s", "1/s burst=11 heal=5s", "at most 10 at this rate"),
        ("1/s burst=10 heal=5s", "1/s burst=11", "at most 10 at this rate"),
        ("10/s burst=10 heal=5s", "1/s burst=10 heal=5s", "at most 1 at this rate"),
        ("1/s burst=10", "1/s burst=10 heal=5s", "heal was not an option"),
    ] {
        let (memory, held) = made(first, 100);
        let error = refusal(beside(second, &memory));
        assert!(matches!(&error, BuildError::Policy(_)) && error.to_string().contains(expected), "{error}");
        let error = refusal(held.with_policy(second.parse().expect("a policy")));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_rate_that_its_ticks_do_not_tell_is_rounded_down_and_says_so() {
    let exact = |limiter: &Limiter| {
        let policy = limiter.policy();
        let mut layers = policy.resolved();
        layers.next().and_then(|layer| layer.emission).expect("a rate").exact
    };
    let (memory, ten) = made("10/s", 100);
    let three = beside("3/s burst=1", &memory).expect("the same words");
    assert!(exact(&ten) && !exact(&three));
    let denied = {
        let _ = three.check_at("key", 1, 0);
        three.check_at("key", 1, 0)
    };
    assert_eq!(denied.retry_after_ns(), 333_333_334);
    // A region made for it has ticks of a third.
    let (_, three) = made("3/s burst=1", 100);
    assert!(exact(&three));
    // Too fine for ticks of a nanosecond.
    let error = refusal(beside("9000000/s", &memory));
    assert!(matches!(&error, BuildError::Policy(_)), "{error}");
}

/// 1,716 / 28,788 ns for the unit, which is 143 / 2,399.
#[test]
fn a_rate_that_was_rounded_and_then_reduced_finds_its_own_region() {
    let policy = "1291845632/77ms horizon=178h";
    let (memory, made) = made(policy, 100);
    let attached = builder(policy).attach(&memory).expect("attached");
    assert!(made.policy().resolved().eq(attached.policy().resolved()));
}

#[test]
fn a_limit_may_grow_as_far_as_the_horizon_lets_it() {
    for (policy, raised, too_far) in [
        ("sliding_window 10/m", "sliding_window 1048575/m", ""),
        ("fixed_window 10/s", "fixed_window 4000000000/s", ""),
        (
            "token_bucket 10/s capacity=10 mode=interval",
            "token_bucket 10/s capacity=4000000 mode=interval",
            "",
        ),
        ("fixed_window 10/s start=first", "fixed_window 15/s start=first", "fixed_window 16/s start=first"),
    ] {
        let (memory, low) = made(policy, 100);
        assert!(low.check_at("key", 10, 0).is_allowed());
        let high = builder(raised).attach(&memory).expect(raised);
        assert!(!low.check_at("key", 1, 0).is_allowed(), "{policy}");
        assert!(high.check_at("key", 5, 0).is_allowed(), "{raised}");
        assert_eq!(low.check_at("key", 0, 0).remaining(), 0);
        if !too_far.is_empty() {
            let error = refusal(builder(too_far).attach(&memory));
            assert!(error.to_string().contains("does not fit the counts"), "{too_far}: {error}");
        }
    }
}

#[test]
fn other_words_are_refused_by_name() {
    for (held, asked, expected) in [
        ("10/s", "fixed_window 10/s", RegionField::Words),
        ("fixed_window 10/s", "10/s", RegionField::Words),
        ("fixed_window 10/s", "fixed_window 10/m", RegionField::Words),
        ("fixed_window 10/m", "fixed_window 10/m offset=1s", RegionField::Words),
        ("calendar_window 10/day tz=UTC", "calendar_window 10/week tz=UTC", RegionField::Words),
        ("sliding_window 10/s", "sliding_window 10/2s", RegionField::Words),
        ("fixed_window 10/s", "fixed_window 10/s start=first", RegionField::Words),
        ("10/s", "10/s & 100/m", RegionField::Layers),
    ] {
        let (memory, _) = made(held, 100);
        let error = refusal(builder(asked).attach(&memory));
        assert_eq!(field(&error), Some(expected), "{held}, {asked}: {error}");
    }
    let (memory, _) = made("10/s", 600);
    let error = refusal(builder("10/s").max_keys(700).attach(&memory));
    assert_eq!(error.to_string(), "the region's max_keys: 600; expected 700");
    let error = refusal(builder("10/s").when_full(WhenFull::Deny).attach(&memory));
    assert_eq!(error.to_string(), "the region's when_full: evict; expected deny");
    assert!(builder("10/s").max_keys(600).when_full(WhenFull::Evict).attach(&memory).is_ok());
}

/// Both policies are named: that of the region's maker, and the one that does not fit.
#[test]
fn a_refusal_names_both_policies() {
    let (memory, made) = made("10/s", 100);
    for (asked, words) in [
        (
            "fixed_window 10/s",
            ["words: gcra in ticks of 1/1 ns, of `10/s`; expected fixed of 1s", ", of `fixed_window 10/s`"],
        ),
        ("10/s & 100/m", ["number of layers: 1, of `10/s`; expected 2", ", of `10/s & 100/m`"]),
    ] {
        let view = made.with_policy(asked.parse().expect("a policy"));
        for error in [refusal(builder(asked).attach(&memory)), refusal(view)] {
            let error = error.to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}

#[test]
fn who_attaches_without_a_policy_follows_the_region_s() {
    for policy in WORDS {
        let (memory, first) = made(policy, 100);
        let second = Limiter::following().attach(&memory).expect("attached");
        assert_eq!(second.policy().to_string(), first.policy().to_string());
        assert!(second.policy().resolved().eq(first.policy().resolved()));
        for now in (0..40).map(|step| step * 70_000_000) {
            let by = [&first, &second][usize::from(now % 3 == 0)];
            let [peek, other] = [&first, &second].map(|limiter| limiter.check_at("key", 0, now));
            assert_eq!(peek, other, "{policy} at {now}");
            let _ = by.check_at("key", 2, now);
        }
    }
    // What else is asked must be so, too.
    let (memory, _) = made("10/s", 600);
    let error = refusal(Limiter::following().max_keys(700).attach(&memory));
    assert_eq!(error.to_string(), "the region's max_keys: 600; expected 700");
    // A view has another capacity, and is not what is followed.
    let view = builder("10/s burst=3").attach(&memory).expect("a view");
    assert_eq!(view.check_at("key", 0, 0).limit(), 3);
    let follower = Limiter::following().attach(&memory).expect("attached");
    assert_eq!(follower.policy().to_string(), "10/s");
}

#[test]
fn without_a_policy_nothing_is_made() {
    let memory = Memory::shared(20_000).expect("memory");
    assert_eq!(refusal(Limiter::following().build()), BuildError::NoPolicy);
    assert_eq!(refusal(Limiter::following().init(&memory)), BuildError::NoPolicy);
    assert_eq!(refusal(Limiter::following().init_zeroed(&memory)), BuildError::NoPolicy);
    assert_eq!(Limiter::following().region_bytes(), Err(BuildError::NoPolicy));
    assert_eq!(Limiter::following().max_keys_in(20_000), Err(BuildError::NoPolicy));
    assert_eq!(refusal(Limiter::following().attach(&memory)), BuildError::Region(RegionError::NotARegion));
}

#[test]
fn memory_that_is_no_region_is_refused() {
    let zeros = Memory::shared(10_000).expect("memory");
    assert_eq!(refusal(builder("10/s").attach(&zeros)), BuildError::Region(RegionError::NotARegion));
    let little = Memory::shared(100).expect("memory");
    assert_eq!(
        refusal(builder("10/s").attach(&little)),
        BuildError::Region(RegionError::TooSmall { needed: 512, len: 100 })
    );
    assert!(matches!(
        refusal(builder("10/s").max_keys(1_000).init(&zeros)),
        BuildError::Region(RegionError::TooSmall { .. })
    ));
    assert_eq!(refusal(builder("sliding_log 10/s").init(&zeros)), BuildError::Region(RegionError::NoWord));
    assert_eq!(refusal(builder("10/s").max_keys(0).init(&zeros)), BuildError::ZeroKeys);
}

#[test]
fn memory_holds_as_many_keys_as_it_says() {
    for len in [11_648, 20_000, 1 << 20, (1 << 20) + 77] {
        let max_keys = builder("10/s").max_keys_in(len).expect("keys");
        let memory = Memory::shared(len).expect("memory");
        let stats = builder("10/s").init(&memory).expect("a region").stats();
        assert_eq!(stats.slots, max_keys / 5 * 7);
        assert!(builder("10/s").max_keys(max_keys).region_bytes().expect("bytes") <= len);
        assert!(builder("10/s").max_keys(max_keys + 1).region_bytes().expect("bytes") > len);
    }
    assert!(builder("10/s").max_keys_in(1 << 20).expect("keys") > 40_400);
    // Header and directory, the packings, the policy; a bucket, and the counters.
    let least = 2_560 + 128 + 8_320 + 128 + 512;
    assert!(builder("10/s").max_keys_in(least - 1).is_err());
    assert_eq!(builder("10/s").max_keys_in(least).expect("a bucket"), 5);
}

#[test]
fn what_is_charged_afterwards_fills_and_never_overflows() {
    for policy in WORDS {
        let limiter = builder(policy).build().expect("a limiter");
        assert_eq!(limiter.decide(Request::new("key").cost(3).at(0).charge()).remaining(), 7, "{policy}");
        assert_eq!(limiter.decide(Request::new("key").cost(30).at(0).charge()).remaining(), 0, "{policy}");
        let full = limiter.check_at("key", 0, 0);
        assert_eq!(limiter.decide(Request::new("key").cost(1).at(0).charge()), full, "{policy}");
        assert!(!limiter.check_at("key", 1, 0).is_allowed());
        assert!(limiter.check_at("key", 1, full.reset_after_ns()).is_allowed(), "{policy}");
    }
    // What was half free is full again: who keeps asking is kept waiting.
    let limiter = builder("10/s burst=1").build().expect("a limiter");
    assert!(limiter.check_at("key", 1, 0).is_allowed());
    assert_eq!(
        limiter.decide(Request::new("key").cost(1).at(50_000_000).charge()).reset_after_ns(),
        100_000_000
    );
    assert!(!limiter.check_at("key", 1, 149_999_999).is_allowed());
    assert!(limiter.check_at("key", 1, 150_000_000).is_allowed());
}

#[test]
fn several_limiters_are_charged_together_or_not_at_all() {
    let [wide, narrow] = ["100/s", "2/s & 3/m"].map(|policy| builder(policy).build().expect("a limiter"));
    let ask = |cost| {
        let claims = [
            Claim { limiter: &wide, request: Request::new("a").at(0) },
            Claim { limiter: &narrow, request: Request::new("b").cost(cost).at(5) },
        ];
        let mut decisions = [Decision::default(); 2];
        let outcome = Limiter::decide_all(&claims, &mut decisions);
        (outcome, decisions.map(|decision| (decision.outcome(), decision.remaining())))
    };
    assert_eq!(ask(2), (Outcome::Allowed, [(Outcome::Allowed, 99), (Outcome::Allowed, 0)]));
    assert_eq!(ask(1), (Outcome::Denied, [(Outcome::Allowed, 99), (Outcome::Denied, 0)]));
    assert_eq!(ask(9), (Outcome::Never, [(Outcome::Allowed, 99), (Outcome::Never, 0)]));
    assert_eq!(wide.check_at("a", 0, 0).remaining(), 99);
    assert_eq!(Limiter::decide_all(&[], &mut []), Outcome::Allowed);
    // One limiter and key twice: the second claim finds the first's charge.
    let twice = [Claim { limiter: &wide, request: Request::new("c").cost(60).at(0) }; 2];
    let mut decisions = [Decision::default(); 2];
    assert_eq!(Limiter::decide_all(&twice, &mut decisions), Outcome::Denied);
    assert_eq!(wide.check_at("c", 0, 0).remaining(), 100);
}

#[test]
fn claims_on_one_key_that_are_refused_are_all_given_back() {
    for policy in WORDS {
        let limiter = builder(policy).build().expect("a limiter");
        for key in ["new", "known"] {
            assert!(limiter.check_at("known", 1, 0).is_allowed());
            let before = limiter.check_at(key, 0, 0);
            let claims = [Claim { limiter: &limiter, request: Request::new(key).at(0) }; 11];
            let outcome = Limiter::decide_all(&claims, &mut [Decision::default(); 11]);
            assert_eq!((outcome, limiter.check_at(key, 0, 0)), (Outcome::Denied, before), "{policy}: {key}");
        }
    }
}

//! Machines that share a limit, against a real server: started by `ci/store.sh`, which says where it is.
#![cfg(feature = "store")]

mod changing;

use std::time::{Duration, Instant};

use ratecell::store::Store;
use ratecell::{Claim, Decision, Limiter, OnFailure, OnMiss, Outcome, Policy, Region, Request};

fn url() -> String {
    std::env::var("RATECELL_STORE").expect("RATECELL_STORE, the address of a server")
}

fn machine(name: &str, policy: &str) -> Limiter {
    let store = Store::open(&url()).expect("an address").named(name).expect("a name");
    let policy: Policy = policy.parse().expect("a policy");
    let builder = Limiter::builder(policy).max_keys(1_000).shared_by(store);
    builder.on_miss(OnMiss::Wait(Duration::from_secs(2))).build().expect("a machine")
}

fn name(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn two_machines_share_each_limit() {
    for (number, policy) in [
        "5/h",
        "fixed_window 5/1h",
        "sliding_window 5/1h",
        "token_bucket 5/1h capacity=5 mode=interval",
        "fixed_window 5/1h start=first",
        "leaky_queue 1/h queue=4",
        "5/h & fixed_window 7/1h",
    ]
    .into_iter()
    .enumerate()
    {
        let name = name(&format!("share{number}"));
        let machines = [machine(&name, policy), machine(&name, policy)];
        let mut allowed = 0;
        for turn in 0..12 {
            let decision = machines[turn % 2].check("user:42");
            allowed += usize::from(decision.is_allowed());
            assert!(decision.is_leased());
        }
        assert_eq!(allowed, 5, "{policy}");
        // A machine that paces itself denies for less at first.
        let started = Instant::now();
        while machines[0].check("user:42").retry_after().is_none_or(|wait| wait < Duration::from_secs(60)) {
            assert!(started.elapsed() < Duration::from_secs(20), "{policy}: the wait is not told");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(machines[0].check("user:43").is_allowed());
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn costs_peeks_charges_and_tries() {
    let name = name("costs");
    let machines = [machine(&name, "10/h"), machine(&name, "10/h")];
    assert_eq!(machines[0].check_n("k", 11).outcome(), Outcome::Never);
    assert!(machines[0].check_n("k", 4).is_allowed());
    assert_eq!(machines[0].peek("k").outcome(), Outcome::Allowed);
    assert!(!machines[1].check_n("k", 7).is_allowed());
    assert!(machines[1].check_n("k", 5).is_allowed());
    let charged = machines[0].decide(Request::new("k").cost(5).charge());
    assert!(charged.is_allowed());
    assert!(!machines[1].check("k").is_allowed());
    let tried = machines[0].decide(Request::new("new").without_waiting());
    assert_eq!(tried.outcome(), Outcome::Asked);
    let started = Instant::now();
    while machines[0].decide(Request::new("new").without_waiting()).outcome() == Outcome::Asked {
        assert!(started.elapsed() < Duration::from_secs(10), "no answer");
        std::thread::sleep(Duration::from_millis(1));
    }
    machines[0].forget("k");
    let started = Instant::now();
    while !machines[0].check("k").is_allowed() {
        assert!(started.elapsed() < Duration::from_secs(10), "it was not forgotten");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_hot_key_is_asked_for_seldom() {
    let name = name("hot");
    let machine = machine(&name, "1000/s burst=1000");
    let started = Instant::now();
    let (mut asked, mut allowed) = (0_u64, 0_u64);
    while started.elapsed() < Duration::from_secs(3) {
        asked += 1;
        allowed += u64::from(machine.check("hot").is_allowed());
        std::thread::sleep(Duration::from_micros(500));
    }
    // The agent has counted what it did when it says so, some milliseconds later.
    std::thread::sleep(Duration::from_millis(200));
    let shared = machine.shared().expect("a machine's state");
    println!("{asked} asked, {allowed} allowed, {shared:?}");
    let most = 1_000 + (started.elapsed().as_millis() as u64) + 1_000 / 10;
    assert!(allowed <= most && shared.operations * 4 < asked, "{allowed} of at most {most}, {shared:?}");
    assert!(shared.leased >= allowed, "{shared:?}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_file_of_leases_is_opened_without_a_store() {
    let name = name("file");
    let path = std::env::temp_dir().join(&name);
    let store = Store::open(&url()).expect("an address").named(&name).expect("a name");
    let policy: Policy = "5/h".parse().expect("a policy");
    let agent =
        Limiter::builder(policy.clone()).max_keys(1_000).shared_by(store).open(&path).expect("a file");
    let open =
        || Limiter::following().on_miss(OnMiss::Wait(Duration::from_secs(2))).open(&path).expect("a file");
    let users = [open(), open()];
    let allowed = (0..12).filter(|turn| users[turn % 2].check("k").is_allowed()).count();
    assert_eq!(allowed, 5);
    // From outside, too.
    let read = || Region::read(&path).expect("a region").shared().expect("the state of a machine");
    let started = Instant::now();
    // The agent counts what it did some milliseconds later.
    let seen = loop {
        let seen = read();
        if seen.leased >= 5 || started.elapsed() > Duration::from_secs(10) {
            break seen;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(seen.is_connected && seen.leased >= 5 && seen.name == name, "{seen:?}");
    let other: Policy = "6/h".parse().expect("a policy");
    let error = Limiter::builder(other).open(&path).expect_err("another policy");
    assert!(error.to_string().contains("expected that policy, or none"), "{error}");
    drop(agent);
    let started = Instant::now();
    let closed = users[0].check("another");
    assert!(closed.is_unanswered() && !closed.is_allowed() && started.elapsed() < Duration::from_secs(1));
    let opened = Limiter::following().on_failure(OnFailure::Open).open(&path).expect("a file");
    assert!(opened.check("another").is_allowed());
    assert_eq!(opened.shared().map(|shared| (shared.opened, shared.is_connected)), Some((1, false)));
    assert_eq!((read().opened, read().is_connected), (1, false));
    std::fs::remove_file(&path).expect("the file");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn joint_requests_wait_for_all_their_units() {
    let (first, second) = (machine(&name("joint1"), "3/h"), machine(&name("joint2"), "5/h"));
    let local =
        Limiter::builder("9/h".parse::<Policy>().expect("a policy")).max_keys(10).build().expect("a limiter");
    let claims = [&local, &first, &second].map(|limiter| Claim { limiter, request: Request::new("k") });
    let mut decisions = [Decision::default(); 3];
    let mut is_allowed = || Limiter::decide_all(&claims, &mut decisions) == Outcome::Allowed;
    // On a busy machine a lease may come later than a request waits.
    let (mut allowed, started) = (0, Instant::now());
    while allowed < 3 && started.elapsed() < Duration::from_secs(10) {
        allowed += u32::from(is_allowed());
    }
    assert_eq!(allowed, 3);
    assert!(!(0..3).any(|_| is_allowed()));
    assert_eq!(local.peek("k").remaining(), 6);
    assert!(second.check_n("k", 2).is_allowed() && !second.check("k").is_allowed());
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn what_does_not_fit_is_named_with_its_store() {
    let name = name("fits");
    let store = || Store::open(&url()).expect("an address").named(&name).expect("a name");
    let expected = |error: ratecell::BuildError, part: &str| {
        let text = error.to_string();
        assert!(text.contains(&format!("under the name {name}")) && text.contains(part), "{text}");
    };
    let error = Limiter::following().shared_by(store()).build().expect_err("no policy anywhere");
    expected(error, "has no policy yet, and none was given");
    let path = std::env::temp_dir().join(&name);
    let builder = Limiter::builder("5/h".parse::<Policy>().expect("a policy")).max_keys(1_000);
    let agent = builder.clone().shared_by(store()).open(&path).expect("a file");
    let window: Policy = "fixed_window 5/1h".parse().expect("a policy");
    let error = Limiter::builder(window).shared_by(store()).build().expect_err("another kind");
    expected(error, "fixed_window 5/h");
    let error = builder.clone().shared_by(store()).open(&path).expect_err("a second agent");
    assert!(error.to_string().ends_with("expected no more than one for each file"), "{error}");
    drop(agent);
    drop(builder.shared_by(store()).open(&path).expect("the next agent"));
    std::fs::remove_file(&path).expect("the file");
}

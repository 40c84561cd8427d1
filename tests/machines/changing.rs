//! The policy changes for all machines.

use super::{Limiter, Policy, Store, machine, name, url};
use ratecell::{OnMiss, Outcome};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn policy(text: &str) -> Policy {
    text.parse().expect("a policy")
}

/// Waits until a machine has the policy.
fn follows(limiter: &Limiter, text: &str) {
    let (started, policy) = (Instant::now(), policy(text));
    while limiter.policy().to_string() != policy.to_string() {
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}, and not {text}", limiter.shared());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many of a burst of checks by turns are allowed, once no lease is left.
fn allowed(machines: &[Limiter], key: &str) -> usize {
    (0..15 * machines.len()).filter(|turn| machines[turn % machines.len()].check(key).is_allowed()).count()
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn all_machines_follow_a_change_and_nothing_used_is_forgotten() {
    for (number, [first, raised, lowered, last]) in [
        ["5/d", "8/d", "2/d", "10/d"],
        ["fixed_window 5/7d", "fixed_window 8/7d", "fixed_window 2/7d", "fixed_window 10/7d"],
        ["sliding_window 5/7d", "sliding_window 8/7d", "sliding_window 2/7d", "sliding_window 10/7d"],
        ["leaky_queue 1/d queue=4", "8/d burst=8", "leaky_meter 2/d capacity=2", "10/d burst=10"],
        [
            "5/d & fixed_window 6/7d",
            "9/d & fixed_window 8/7d",
            "3/d & fixed_window 2/7d",
            "11/d & fixed_window 10/7d",
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let name = name(&format!("changed{number}"));
        let machines = [machine(&name, first), machine(&name, first)];
        assert_eq!(allowed(&machines, "k"), 5, "{first}");
        for (changer, next, more) in [(0, raised, 3), (1, lowered, 0), (0, last, 2)] {
            machines[changer].change(policy(next)).expect("a change");
            machines.iter().for_each(|machine| follows(machine, next));
            assert_eq!(allowed(&machines, "k"), more, "{first} until {next}");
        }
        // A key that nobody has asked for is decided by the last policy alone.
        assert_eq!(allowed(&machines, "new"), 10, "{last}");
        // One that comes with the first policy follows.
        let late = machine(&name, first);
        assert_eq!(late.policy().to_string(), policy(last).to_string());
        assert!(late.shared().expect("a machine").warnings[0].contains("does not hold"));
        assert!(!late.check("k").is_allowed());
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_greater_version_changes_the_policy_and_any_other_is_told_what_holds() {
    let name = name("versions");
    let configured = |text: &str, version: u64| {
        let store = Store::open(&url()).expect("an address").named(&name).expect("a name");
        let builder = Limiter::builder(policy(text)).max_keys(1_000).shared_by(store);
        builder.on_miss(OnMiss::Wait(Duration::from_secs(2))).policy_version(version).build()
    };
    let machine = |text: &str, version: u64| configured(text, version).expect("a machine");
    let machines = [machine("5/d", 1), machine("5/d", 1)];
    assert_eq!(allowed(&machines, "k"), 5);
    let raised = machine("8/d", 2);
    assert_eq!(raised.policy().to_string(), policy("8/d").to_string());
    machines.iter().for_each(|machine| follows(machine, "8/d"));
    assert_eq!(allowed(&machines, "k"), 3);
    // The same policy by a greater number, which is the store's then.
    let renumbered = machine("8/d", 4);
    for quiet in [&raised, &renumbered] {
        assert_eq!(quiet.shared().expect("a machine").warnings, [""; 0]);
    }
    for (text, version) in [("5/d", 1), ("9/d", 3), ("9/d", 4), ("9/d", 0)] {
        let told = machine(text, version);
        assert_eq!(told.policy().to_string(), policy("8/d").to_string());
        let warnings = told.shared().expect("a machine").warnings;
        assert!(warnings[0].ends_with("does not hold. A policy_version above 4 changes it"), "{warnings:?}");
        assert!(!told.check("k").is_allowed());
    }
    let error = configured("fixed_window 9/1h", 5).expect_err("another algorithm");
    assert!(error.to_string().contains("cannot follow"), "{error}");
    let store = Store::open(&url()).expect("an address").named(&name).expect("a name");
    let error = Limiter::following().shared_by(store).policy_version(5).build().expect_err("no policy");
    assert!(error.to_string().contains("expected a policy beside it"), "{error}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_change_back_and_forth_is_more_than_a_tag_or_a_record_holds() {
    let name = name("often");
    let machines = [machine(&name, "4/d"), machine(&name, "4/d")];
    assert_eq!(allowed(&machines, "k"), 4);
    for turn in 0..12 {
        let next = ["6/d burst=6", "4/d burst=4"][turn % 2];
        machines[turn % 2].change(policy(next)).expect("a change");
        follows(&machines[1 - turn % 2], next);
        assert_eq!(allowed(&machines, "k"), if turn == 0 { 2 } else { 0 }, "{turn}");
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn under_load_no_unit_is_too_many_whichever_way_the_limit_goes() {
    let name = name("load");
    let first = "fixed_window 2000/7d";
    let machines = [(); 3].map(|()| machine(&name, first));
    let (is_over, allowed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| {
                // Relaxed, all: the scope's end orders them.
                while !is_over.load(Ordering::Relaxed) {
                    let one = u64::from(machine.check("k").is_allowed());
                    allowed.fetch_add(one, Ordering::Relaxed);
                }
            });
        }
        let mut most = 2_000;
        for (turn, limit) in [3_000, 1_000, 4_000, 500, 5_000].into_iter().enumerate() {
            let next = format!("fixed_window {limit}/7d");
            machines[turn % 3].change(policy(&next)).expect("a change");
            most = most.max(limit);
            machines.iter().for_each(|machine| follows(machine, &next));
            let used = allowed.load(Ordering::Relaxed);
            assert!(used <= most, "{used} of {most} at {next}");
        }
        let started = Instant::now();
        while machines.iter().any(|machine| machine.peek("k").outcome() != Outcome::Denied)
            && started.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (used, leased) = (allowed.into_inner(), machines.iter().filter_map(Limiter::shared));
    let leased: u64 = leased.map(|shared| shared.leased).sum();
    println!("{used} used of {leased} leased and 5000");
    assert!(used > 2_000 && used <= leased && leased <= 5_000, "{used} of {leased}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn what_cannot_follow_is_refused_and_changes_nothing() {
    let name = name("refused");
    let machines = [machine(&name, "5/d"), machine(&name, "5/d")];
    let error = machines[0].change(policy("fixed_window 5/1h")).expect_err("another algorithm");
    assert!(error.to_string().contains("cannot follow"), "{error}");
    machines[0].change(policy("5/d burst=5")).expect("the same");
    assert_eq!(allowed(&machines, "k"), 5);
    assert_eq!(machines[1].policy().to_string(), policy("5/d").to_string());
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn the_users_of_a_file_follow_and_the_next_agent_knows_of_which_policy_its_leases_are() {
    let name = name("changed-file");
    let path = std::env::temp_dir().join(&name);
    let store = || Store::open(&url()).expect("an address").named(&name).expect("a name");
    let open = || {
        let builder = Limiter::builder(policy("fixed_window 5/7d")).max_keys(1_000).shared_by(store());
        builder.on_miss(ratecell::OnMiss::Wait(Duration::from_secs(2))).open(&path).expect("a file")
    };
    let (agent, other) = (open(), machine(&name, "fixed_window 5/7d"));
    let wait = ratecell::OnMiss::Wait(Duration::from_secs(2));
    let user = Limiter::following().on_miss(wait).open(&path).expect("a file");
    let error = user.change(policy("fixed_window 8/7d")).expect_err("no agent is here");
    assert!(error.to_string().contains("in another process"), "{error}");
    let users = [user, other];
    assert_eq!(allowed(&users, "k"), 5);
    agent.change(policy("fixed_window 8/7d")).expect("a change");
    users.iter().for_each(|user| follows(user, "fixed_window 8/7d"));
    assert_eq!(allowed(&users, "k"), 3);
    // While no agent is here the policy changes twice: what the file holds is of neither.
    drop(agent);
    users[1].change(policy("fixed_window 9/7d")).expect("a change");
    users[1].change(policy("fixed_window 8/7d")).expect("a change");
    let _agent = open();
    follows(&users[0], "fixed_window 8/7d");
    assert_eq!(allowed(&users, "k"), 0);
    assert_eq!(allowed(&users, "new"), 8);
    users[1].change(policy("fixed_window 10/7d")).expect("a change");
    follows(&users[0], "fixed_window 10/7d");
    assert_eq!(allowed(&users, "k"), 2);
    std::fs::remove_file(&path).expect("the file");
}

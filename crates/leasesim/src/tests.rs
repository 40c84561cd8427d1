use crate::change;
use crate::compare::{cases, forgotten, lease};
use crate::config::{Config, Fault, Forgets, SECOND};
use crate::soak::{Total, one};

fn soak(number: u64, fault: Option<Fault>) -> Total {
    let mut total = Total::default();
    for seed in 0..number {
        let config = Config { fault, ..Config::any(seed) };
        one(config, &mut total).expect("a run");
    }
    total
}

#[test]
fn one_limiter_admits_all_that_machines_admit() {
    let total = soak(60, None);
    assert!(total.findings.uses > 10_000, "{total:?}: too little was used");
    assert!(total.findings.local > 100, "{total:?}: too little was decided without the store");
    assert_eq!(total.red, 0, "{total:?}");
}

#[test]
fn planted_faults_are_seen() {
    for (name, fault) in Fault::ALL {
        let total = soak(60, Some(fault));
        assert!(total.red > 0, "{name}: not seen: {total:?}");
    }
}

fn changing(number: u64, fault: Option<Fault>) -> change::Total {
    let mut total = change::Total::default();
    for seed in 0..number {
        change::one(Config::changing(seed, fault), &mut total).expect("a run");
    }
    total
}

#[test]
fn one_limiter_that_changes_admits_all_uses_that_have_heard() {
    let total = changing(200, None);
    assert!(total.changes > 200 && total.findings.uses > 50_000, "{total:?}: too little happened");
    assert!(total.findings.unheard > 0, "{total:?}: every machine had heard");
    assert_eq!(total.red, 0, "{total:?}");
}

#[test]
fn planted_faults_of_a_change_are_seen() {
    for (name, fault) in Fault::OF_CHANGE {
        let red = (0..3_000).any(|seed| {
            let mut total = change::Total::default();
            change::one(Config::changing(seed, Some(fault)), &mut total).expect("a run");
            total.red > 0
        });
        assert!(red, "{name}: not seen");
    }
}

#[test]
fn a_hot_key_costs_few_operations_and_a_cold_one_no_more_than_one() {
    let row = |name: &str| {
        let (_, config) = cases().into_iter().find(|(case, _)| case.starts_with(name)).expect("a case");
        let (row, ..) = lease(config).expect("a run");
        assert_eq!(row.beyond, 0, "{name}: {row:?}");
        row
    };
    let hot = row("10 machines, 1000/s burst 1000, twice");
    assert!(hot.operations <= 0.06 && hot.admitted >= 0.98 && hot.fairness >= 0.98, "{hot:?}");
    let below = row("the same, 0.8 of it");
    assert!(below.operations <= 0.18 && below.admitted >= 0.99, "{below:?}");
    let cold = row("cold");
    assert!(cold.operations <= 1.005 && cold.admitted >= 0.99, "{cold:?}");
    let far = row("RTT 50 ms");
    assert!(far.operations <= 0.06 && far.admitted >= 0.95, "{far:?}");
}

#[test]
fn a_store_that_forgets_admits_a_burst_more_at_most_and_less_where_machines_put_it_back() {
    let second = Forgets::LastSecond(10 * SECOND);
    let run = |heals, seed| forgotten(second, heals, seed).expect("a run");
    let (mut without, mut with) = (0, 0);
    for seed in 1..=3 {
        let (plain, healed) = (run(false, seed), run(true, seed));
        assert!(plain.refused <= 1_000 && healed.refused <= 100, "{plain:?} {healed:?}");
        without += plain.refused;
        with += healed.refused;
    }
    assert!(with < without / 4, "{with} of {without}");
    let forgets = Forgets::All(3 * SECOND);
    let plain = Config::plain("100/s burst=50", 4, 200.0);
    let (.., findings) = lease(Config { forgets, duration: 5 * SECOND, ..plain }).expect("a run");
    assert!(findings.refused <= 50, "{findings:?}");
}

#[test]
fn every_caller_is_answered_where_nothing_fails() {
    for policy in
        ["1000/s burst=1000", "fixed_window 100/1s", "sliding_window 50/1s", "leaky_queue 50/s queue=6"]
    {
        for (costly, rate) in [(0.0, 30.0), (0.0, 2_000.0), (0.3, 300.0)] {
            let config = Config { costly, keys: 2, duration: 5 * SECOND, ..Config::plain(policy, 5, rate) };
            let (_, world, findings) = lease(config).expect("a run");
            assert!(findings.is_clean(), "{policy}: {findings:?}");
            let tally = &world.tally;
            println!("{policy}, {rate}/s: {} of {} gave up", tally.gave_up, tally.requests);
            // Who needs several units may wait in vain beside a lease of fewer.
            let most = if costly > 0.0 { tally.requests / 20 } else { 0 };
            assert!(tally.gave_up <= most, "{policy}, {rate}/s: {} of {}", tally.gave_up, tally.requests);
        }
    }
}

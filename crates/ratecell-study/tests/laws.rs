//! What is suggested for made-up logs, against replays of single policies.

use proptest::prelude::*;
use ratecell_study::{Candidate, Found, Kind, Recorder, SCALES, Study, StudyError, Suggestion, Wish, rung};

const SECOND_NS: u64 = 1_000_000_000;

/// Requests in the order of time: milliseconds since the one before, client, cost.
type Log = Vec<(u64, usize, u32)>;

fn study(log: &Log, wish: Wish) -> Result<Study, StudyError> {
    let mut recorder = Recorder::new(wish)?;
    let mut now_ns = 3 * SECOND_NS;
    for (after_ms, client, cost) in log {
        now_ns += after_ms * 1_000_000;
        recorder.push(now_ns, *client, *cost);
    }
    Study::new(recorder.finish()?, wish)
}

fn suggest(log: &Log, wish: Wish) -> (Study, Suggestion) {
    let study = study(log, wish).unwrap();
    let suggestion = study.suggest(&|| ()).unwrap();
    (study, suggestion)
}

/// Logs of a minute or more, with one client that asks faster than the others.
fn logs() -> impl Strategy<Value = Log> {
    let request = (0_u64..2_000, 0_usize..12, 1_u32..3);
    let burst = (0_u64..30, Just(12_usize), 1_u32..3);
    let requests = prop_oneof![3 => request, 1 => burst];
    prop::collection::vec(requests, 100..400).prop_map(|mut log| {
        // Clients are numbered without gaps.
        log.splice(0..0, (0..13).map(|client| (1_000, client, 1)));
        log
    })
}

fn wishes() -> impl Strategy<Value = Wish> {
    prop_oneof![
        Just(Wish::DenyNobody),
        (0_u64..=200_000_000).prop_map(|share| Wish::DenyAtMost { share }),
        (1_u64..30, 1_u64..20)
            .prop_map(|(units, seconds)| Wish::Protect { units, period_ns: seconds * SECOND_NS }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_meets_the_wish_and_its_neighbour_does_not(log in logs(), wish in wishes()) {
        let (study, suggestion) = suggest(&log, wish);
        for found in &suggestion.found {
            let again = study.replay(found.candidate).unwrap().unwrap();
            prop_assert_eq!(&found.trial, &again);
            prop_assert!(again.fitted.meets(wish), "{}: {:?}", found.policy, again);
            prop_assert_eq!(found.holds, again.rest.meets(wish));
            match found.neighbour {
                Some(neighbour) => {
                    let trial = study.replay(neighbour).unwrap().unwrap();
                    prop_assert!(!trial.fitted.meets(wish), "beside {}: {:?}", found.policy, trial);
                }
                None => prop_assert_eq!(found.candidate.rung, 0),
            }
        }
        for tightest in &suggestion.none {
            prop_assert_eq!(tightest.rung, 0);
            let trial = study.replay(*tightest).unwrap().unwrap();
            prop_assert!(!trial.fitted.meets(wish), "{:?}: {:?}", tightest, trial);
        }
    }

    #[test]
    fn parts_add_up_to_a_plain_replay(log in logs(), kind in 0_usize..3, scale in 0_usize..3, place in 0_usize..20) {
        let (study, suggestion) = suggest(&log, Wish::DenyNobody);
        let kind = suggestion.found[0].candidate.kind.min(suggestion.found[kind].candidate.kind);
        let candidate = Candidate { kind, scale: SCALES[scale], rung: place };
        let trial = study.replay(candidate).unwrap().unwrap();
        let (requests, denied) = plain(&log, &candidate, study.cut_ns());
        prop_assert_eq!([trial.fitted.requests, trial.rest.requests], requests);
        prop_assert_eq!([trial.fitted.denied, trial.rest.denied], denied);
        let named: u64 = trial.most_denied.iter().map(|client| client.denied).sum();
        prop_assert!(named <= denied.iter().sum() && trial.most_denied.len() <= 10);
    }
}

/// Requests and denials before and after the cut, with a word for each client.
fn plain(log: &Log, candidate: &Candidate, cut_ns: u64) -> ([u64; 2], [u64; 2]) {
    use ratecell_core::algorithm::{Algorithm, Plan};
    let Plan::Word(kernel) = candidate.policy().unwrap().layers()[0].plan() else { panic!("a log") };
    let (mut words, mut now_ns) = ([0_u64; 13], 3 * SECOND_NS);
    let (mut requests, mut denied) = ([0; 2], [0; 2]);
    for (after_ms, client, cost) in log {
        now_ns += after_ms * 1_000_000;
        let part = usize::from(now_ns >= cut_ns);
        let step = ratecell_core::with_kernel!(&kernel, kernel => kernel.step(words[*client], now_ns, *cost));
        words[*client] = step.charged.unwrap_or(words[*client]);
        requests[part] += 1;
        denied[part] += u64::from(!step.decision.is_allowed());
    }
    (requests, denied)
}

/// 200 calm clients, and one that asks ten times a second.
fn calm_and_greedy() -> Log {
    let mut log = Log::new();
    for second in 0..600 {
        log.extend((0..4).map(|number| (u64::from(number == 0) * 1_000, (second * 4 + number) % 200, 1)));
        log.extend((0..10).map(|_| (0, 200, 1)));
    }
    log
}

#[test]
fn the_greedy_are_denied_and_nobody_who_behaves() {
    let (study, suggestion) = suggest(&calm_and_greedy(), Wish::DenyNobody);
    // The calm ask once in fifty seconds.
    assert_eq!(study.behaviour().most[..3], [3, 3, 6]);
    let best = &suggestion.found[0];
    assert!(best.holds && best.trial.fitted.denied > 3_000, "{best:?}");
    assert_eq!(best.trial.most_denied.len(), 1);
    assert_eq!((best.trial.most_denied[0].client, best.trial.most_denied[0].requests), (200, 6_000));
    assert_eq!((best.trial.fitted.behaving_denied, best.trial.rest.behaving_denied), (0, 0));
    // 200 of 200 were allowed: at least 1 - 0.05^(1/200).
    let at_most = best.at_most(Wish::DenyNobody).unwrap();
    assert!((at_most - (1.0 - 0.05_f64.powf(1.0 / 200.0))).abs() < 1e-9, "{at_most}");
    // The scales that are longer than the log say nothing.
    assert_eq!(suggestion.found.len(), 9);
}

#[test]
fn what_all_together_are_allowed_stays_below_what_is_protected() {
    let wish = Wish::protect("8/s").unwrap();
    let (study, suggestion) = suggest(&calm_and_greedy(), wish);
    assert!(study.crowded() >= 395);
    let best = &suggestion.found[0];
    assert!(best.holds && best.trial.fitted.most_allowed <= 8, "{best:?}");
    assert!(best.trial.fitted.behaving_denied == 0, "{best:?}");
    let looser = study.replay(best.neighbour.unwrap()).unwrap().unwrap();
    assert!(looser.fitted.most_allowed > 8, "{looser:?}");

    // Four calm clients ask in each second: no limit for each of them can allow only three.
    let (_, suggestion) = suggest(&calm_and_greedy(), Wish::protect("3/s").unwrap());
    assert!(suggestion.none.iter().any(|tightest| tightest.scale == SCALES[0]), "{suggestion:?}");

    let (study, suggestion) = suggest(&calm_and_greedy(), Wish::protect("1000/s").unwrap());
    assert_eq!((study.crowded(), suggestion.found.len(), suggestion.none.len()), (0, 0, 0));
}

#[test]
fn a_limit_that_is_too_tight_is_not_found_where_no_looser_one_is_a_policy() {
    // Up to 6 * 10^9 units in a second.
    let log: Log = (0..60).map(|at| (500, at % 2, 3_000_000_000)).collect();
    let (_, suggestion) = suggest(&log, Wish::DenyNobody);
    assert_eq!(suggestion.found.len(), 2, "{suggestion:?}");
    for found in &suggestion.found {
        assert!(
            found.candidate.scale == SCALES[0] && found.trial.fitted.meets(Wish::DenyNobody),
            "{found:?}"
        );
    }
}

#[test]
fn a_line_begins_with_the_loosest_limit_that_is_a_policy() {
    // Twice the busiest second is no limit of a sliding window over a second.
    let log: Log = (0..600).map(|at| (200, at % 2, if at < 10 { 300_000 } else { 1_000 })).collect();
    let (_, suggestion) = suggest(&log, Wish::DenyAtMost { share: 100_000_000 });
    let is_sliding =
        |found: &Found| (found.candidate.kind, found.candidate.scale) == (Kind::SlidingWindow, SCALES[0]);
    assert!(suggestion.found.iter().any(is_sliding), "{suggestion:?}");
}

#[test]
fn what_shows_no_rate_is_refused() {
    let one: Log = vec![(1_000, 0, 1); 10];
    assert!(matches!(study(&one, Wish::DenyNobody), Err(StudyError::OneClient)));
    let short: Log = vec![(0, 0, 1), (2_999, 1, 1)];
    assert!(matches!(study(&short, Wish::DenyNobody), Err(StudyError::TooShort)));
    assert_eq!(rung(0), 1);
}

use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::packing::LayoutChoice;
use super::super::params::Params;
use super::super::{Algorithm, Kernel, Lend, Plan, Span, Step, Want};
use super::{CALENDAR_WINDOW, CalendarWindow, NS_PER_SECOND};
use crate::decision::Outcome;
use crate::zone::{Period, Row, Tz};

/// Windows of five units, of a zone whose clocks are always so far ahead.
fn kernel(span: Period, minutes: i16) -> CalendarWindow {
    let tz = if minutes == 0 { Tz::Utc } else { Tz::Fixed(minutes) };
    let params = Params { limit: 5, span: Some(span), tz: Some(tz), ..Params::default() };
    match (CALENDAR_WINDOW.resolve)(&params, LayoutChoice::TIGHT, 1_767_571_200) {
        Ok((Plan::Word(Kernel::CalendarWindow(kernel)), _)) => kernel,
        other => panic!("{other:?}"),
    }
}

/// Boundaries of windows of uneven lengths, above 0.
fn boundaries() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![3 => 80..90_u64, 1 => 1..400_u64], 1..60).prop_map(|lengths| {
        let ends = lengths.into_iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        ends.collect()
    })
}

/// A calendar whose boundaries are these.
fn windows(ends: &[u64], heal: Option<u64>) -> CalendarWindow {
    let mut kernel = kernel(Period::Day, 0);
    kernel.counter.max_now = ends.last().copied().unwrap_or(0) * NS_PER_SECOND - 1;
    kernel.counter.heal = heal;
    kernel.zone = kernel.zone.with_row(Row::new(ends.to_vec()));
    kernel
}

/// What the definition says of a state `(end, count)`: the window that is in force after the request, whether the request
/// is admitted, and the end of that window as the calendar has it.
fn defined(ends: &[u64], (end, count): (u64, u64), now: u64, cost: u64) -> ((u64, u64), bool, u64) {
    let starts: Vec<u64> = core::iter::once(0).chain(ends.iter().copied()).collect();
    let second = now / NS_PER_SECOND;
    let held =
        (0..ends.len()).find(|k| starts[*k] <= second && second < ends[*k]).expect("within the calendar");
    let (end, count) = if starts[held] >= end { (ends[held], 0) } else { (end, count) };
    let next = ends.iter().copied().find(|boundary| *boundary >= end).unwrap_or(end);
    let admitted = count + cost <= 5;
    ((end, if admitted { count + cost } else { count }), admitted, next)
}

fn word(kernel: &CalendarWindow, (end, count): (u64, u64)) -> u64 {
    (end << kernel.counter.count.bits) | count
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 3_000 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// A boundary is found where a search through all of them finds it.
    #[test]
    fn lookups_are_those_of_a_search(ends in boundaries(), beyond in 0..100_u64) {
        let row = Row::new(ends.clone());
        let last = row.last();
        for second in 0..=last + beyond {
            let next = ends.iter().copied().find(|end| *end >= second);
            prop_assert_eq!(row.at_or_after(second), next.unwrap_or(second));
            let start = ends.iter().rev().copied().find(|end| *end <= second).unwrap_or(0);
            let end = ends.iter().copied().find(|end| *end > second).unwrap_or(second + 1);
            prop_assert_eq!(row.around(second), (start, end));
        }
        prop_assert_eq!(row.len(), ends.len());
    }

    /// Every decision is the definition's, also on words of another calendar.
    #[test]
    fn decisions_are_those_of_the_definition(
        ends in boundaries(),
        foreign in 0..2_000_u64,
        count in 0..=5_u64,
        requests in prop::collection::vec((any::<u64>(), 0..=5_u32), 1..30),
    ) {
        let kernel = windows(&ends, None);
        let mut state = (foreign, count);
        for (at, cost) in requests {
            let now = at % (kernel.counter.max_now + 1);
            let Step { charged, decision } = kernel.step(word(&kernel, state), now, cost);
            let (after, admitted, next) = defined(&ends, state, now, u64::from(cost));
            prop_assert_eq!(decision.is_allowed(), admitted);
            prop_assert_eq!(charged, (admitted && cost > 0).then(|| word(&kernel, after)));
            prop_assert_eq!(decision.remaining(), 5 - after.1);
            let until = next * NS_PER_SECOND - now;
            prop_assert_eq!(decision.retry_after_ns(), if admitted { 0 } else { until });
            prop_assert_eq!(decision.reset_after_ns(), if after.1 > 0 { until } else { 0 });
            if admitted && cost > 0 {
                prop_assert!(word(&kernel, after) > word(&kernel, state), "a charge makes the word greater");
                state = after;
            }
        }
    }

    /// From `fresh_at` on, and no earlier, a word decides as one that was never used; and it is carried to what it becomes.
    #[test]
    fn a_word_is_fresh_from_then_on(
        ends in boundaries(),
        // No step writes an end of 0.
        end in 1..2_000_u64,
        count in 0..=5_u64,
        at in any::<u64>(),
    ) {
        let kernel = windows(&ends, None);
        let held = word(&kernel, (end, count));
        let now = at % (kernel.counter.max_now + 1);
        let fresh_at = kernel.fresh_at(held);
        let same = |now: u64| {
            let [one, other] = [held, 0].map(|word| kernel.step(word, now, 1));
            (one.charged, one.decision) == (other.charged, other.decision)
        };
        if now >= fresh_at {
            prop_assert!(same(now));
        }
        if (1..=kernel.counter.max_now).contains(&fresh_at) {
            prop_assert!(same(fresh_at) && !same(fresh_at - 1));
        }
        prop_assert_eq!(kernel.level(held, now) > 0, count > 0 && now < fresh_at);
        let carried = kernel.carried(held, now);
        let [one, other] = [held, carried].map(|word| kernel.step(word, now, 1).decision);
        prop_assert_eq!(one.remaining(), other.remaining());
        prop_assert!(carried >= kernel.carried(0, now) && carried >= held);
    }

    /// Law of a store: what a span takes is what a step allows.
    #[test]
    fn a_take_is_a_step(
        ends in boundaries(),
        end in 0..2_000_u64,
        count in 0..=5_u64,
        seen in 0..2_000_u64,
        at in any::<u64>(),
        cost in 1..=5_u32,
    ) {
        let kernel = windows(&ends, None);
        let now = at % (kernel.counter.max_now + 1);
        let held = word(&kernel, (end, count));
        let mut words = [held];
        let take = |span: Span, words: &mut [u64]| {
            Span::take(&[span], words, Want { most: cost.into(), least: cost.into(), share: 1 })
        };
        if let Some(span) = kernel.span(word(&kernel, (seen, 1)), now)
            && seen <= end
            && take(span, &mut words).is_some()
        {
            prop_assert_eq!(kernel.step(held, now, cost).charged, Some(words[0]));
        }
        if let Some(span) = kernel.span(held, now) {
            let mut words = [held];
            let taken = take(span, &mut words);
            prop_assert_eq!(taken.is_some(), kernel.step(held, now, cost).decision.is_allowed());
        }
    }
}

#[test]
fn a_word_of_the_future_is_healed_after_its_window_began() {
    let kernel = windows(&[100, 200, 300, 400], Some(10 * NS_PER_SECOND));
    let held = word(&kernel, (300, 5));
    assert_eq!(kernel.step(held, 190 * NS_PER_SECOND, 1).decision.outcome(), Outcome::Denied);
    assert_eq!(kernel.step(held, 190 * NS_PER_SECOND - 1, 1).charged, Some(word(&kernel, (200, 1))));
    // No window of this calendar ends at 250: the one before ended at 200 and began at 100.
    let foreign = word(&kernel, (250, 5));
    assert!(!kernel.is_healed(foreign, 90 * NS_PER_SECOND));
    assert!(kernel.is_healed(foreign, 90 * NS_PER_SECOND - 1));
}

#[test]
fn words_serve_another_calendar_of_the_same_period() {
    let tokyo = kernel(Period::Day, 9 * 60);
    let new_york = kernel(Period::Day, -5 * 60);
    const HOUR: u64 = 3_600 * NS_PER_SECOND;
    let full = tokyo.step(0, 13 * HOUR, 5).charged.expect("allowed");
    let denied = new_york.step(full, 14 * HOUR, 1).decision;
    // To 15:00 the window of Tokyo is in force; the first one of New York that begins later does so at 29:00.
    assert_eq!((denied.outcome(), denied.retry_after_ns()), (Outcome::Denied, 15 * HOUR));
    assert_eq!(new_york.step(full, 29 * HOUR - 1, 1).decision.outcome(), Outcome::Denied);
    assert!(new_york.step(full, 29 * HOUR, 1).charged.is_some());
    assert_eq!(tokyo.packing(), new_york.packing());
    assert_ne!(tokyo.packing(), kernel(Period::Week, 9 * 60).packing());
}

/// Two calendars over the same words: what is fresh in one may still count in the other, for less than its longest window.
#[test]
fn a_word_may_be_fresh_before_it_is_in_another_calendar() {
    let utc = kernel(Period::Day, 0);
    let new_york = kernel(Period::Day, -5 * 60);
    const HOUR: u64 = 3_600 * NS_PER_SECOND;
    let full = utc.step(0, 13 * HOUR, 5).charged.expect("allowed");
    assert_eq!((utc.fresh_at(full), new_york.fresh_at(full)), (24 * HOUR, 29 * HOUR));
    // A caller of the first may give the slot away from then on, and a caller of the other meets the key without its word.
    let [held, lost] = [full, utc.above(0, utc.fresh_at(full), 26 * HOUR)];
    assert_eq!(new_york.step(held, 26 * HOUR, 1).decision.outcome(), Outcome::Denied);
    assert_eq!(new_york.step(lost, 26 * HOUR, 5).charged, Some(word(&new_york, (29 * 3_600, 5))));
    // With its word it would have had the next quota at the next boundary of its calendar: the lost one was one more.
    assert_eq!(new_york.step(held, 29 * HOUR, 5).charged, Some(word(&new_york, (53 * 3_600, 5))));
}

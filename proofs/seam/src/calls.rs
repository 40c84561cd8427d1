//! The functions of a kernel by their numbers: `CALLS` in `prover/kernels.py` has the same.

use ratecell_core::algorithm::{Algorithm, Held, Lend, Reserve, Span, Step, Want};

#[link(wasm_import_module = "seam")]
unsafe extern "C" {
    /// One number of what is returned.
    safe fn result(number: u64);
}

/// Gives each number to the host.
#[inline(always)]
pub(crate) fn returned(numbers: &[u64]) {
    for number in numbers {
        result(*number);
    }
}

#[inline(always)]
fn decided(step: Step) {
    let decision = step.decision;
    returned(&[
        u64::from(step.charged.is_some()),
        step.charged.unwrap_or(0),
        decision.outcome() as u64,
        decision.limit(),
        decision.remaining(),
        decision.retry_after_ns(),
        decision.reset_after_ns(),
        decision.delay_ns(),
    ]);
}

/// What every kernel can be asked. `other` is an instant or a total, as the function has it.
#[inline(always)]
pub(crate) fn asked<K: Algorithm>(kernel: &K, call: u32, word: u64, now: u64, cost: u32, other: u64) {
    match call {
        0 => decided(kernel.step(word, now, cost)),
        1 => returned(&[kernel.fresh_at(word)]),
        2 => returned(&[u64::from(kernel.is_fresh(word, now))]),
        3 => returned(&[kernel.level(word, now)]),
        4 => returned(&[kernel.carried(word, other)]),
        5 => returned(&[kernel.above(word, other, now)]),
        _ => returned(&[kernel.fill(word, now, cost)]),
    }
}

/// Reserves `cost` on `before` at `made`, and gives back `units` of it on `word` at `now`. `since` has been given back
/// meanwhile, where that is known.
#[inline(always)]
pub(crate) fn given_back<K: Reserve>(
    kernel: &K,
    (before, made, cost): (u64, u64, u32),
    (word, now, units): (u64, u64, u32),
    since: Option<u64>,
) {
    let Some(after) = kernel.step(before, made, cost).charged else { return };
    let held: Held = kernel.held(after, made, cost, 0);
    let (word, back) = kernel.give_back(word, now, &held, cost, units, since);
    returned(&[after, word, back]);
}

/// Takes at most `most` units of `word` by the bounds that `seen` has at `now`.
#[inline(always)]
pub(crate) fn taken<K: Lend>(kernel: &K, seen: u64, word: u64, now: u64, most: u32) {
    let Some(Span { floor, ceiling, unit, raises }) = kernel.span(seen, now) else { return };
    let mut words = [word];
    let want = Want { most: u64::from(most), least: u64::from(most), share: 1 };
    let spans = [Span { floor, ceiling, unit, raises }];
    if Span::take(&spans, &mut words, want).is_some() {
        returned(&words);
    }
}

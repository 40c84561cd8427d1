//! A case: one way to ask one store, compiled as a loop of its own.

use ratecell::Decision;

use crate::workload::Key;

/// How decisions follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each waits for the one before it, as a check within a request does: latency.
    Lone,
    /// The processor overlaps them as far as it can: throughput.
    BackToBack,
}

/// Waits until every load before it has its value.
///
/// A `SeqCst` fence would not do on x86-64: it orders memory, and the processor still overlaps the misses.
#[inline]
fn wait_for_loads() {
    #[cfg(target_arch = "x86_64")]
    {
        #[expect(unsafe_code, reason = "no safe call waits for loads, and that is what latency is")]
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            core::arch::x86_64::_mm_lfence();
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

type Run<'s> = Box<dyn Fn(&[Key], Pace) -> usize + Sync + 's>;

/// One way to ask one store, by the name of its row.
pub(crate) struct Case<'s> {
    pub(crate) name: &'static str,
    run: Run<'s>,
}

impl<'s> Case<'s> {
    /// A decision a key. `now` is called once a window, as an event loop reads its clock once a tick.
    pub(crate) fn lone(
        name: &'static str,
        now: impl Fn() -> u64 + Sync + 's,
        check: impl Fn(&Key, u64) -> bool + Sync + 's,
    ) -> Self {
        let run: Run<'s> = Box::new(move |keys, pace| {
            let now = now();
            let mut allowed = 0;
            for key in keys {
                allowed += usize::from(check(key, now));
                if pace == Pace::Lone {
                    wait_for_loads();
                }
            }
            allowed
        });
        Self { name, run }
    }

    /// `N` keys a call.
    pub(crate) fn batched<const N: usize>(
        name: &'static str,
        now: impl Fn() -> u64 + Sync + 's,
        check: impl Fn(&[Key; N], u64, &mut [Decision]) + Sync + 's,
    ) -> Self {
        let run: Run<'s> = Box::new(move |keys, pace| {
            let now = now();
            let mut decisions = [Decision::default(); N];
            let mut allowed = 0;
            let (batches, rest) = keys.as_chunks();
            debug_assert!(rest.is_empty(), "windows are whole batches");
            for batch in batches {
                check(batch, now, &mut decisions);
                allowed += decisions.iter().filter(|decision| decision.is_allowed()).count();
                if pace == Pace::Lone {
                    wait_for_loads();
                }
            }
            allowed
        });
        Self { name, run }
    }

    /// Decides on every key; how many were allowed.
    pub(crate) fn run(&self, keys: &[Key], pace: Pace) -> usize {
        (self.run)(keys, pace)
    }
}

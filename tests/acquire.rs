//! Waiting in futures. What is waited for comes within milliseconds, or in hours: nothing asserts how long it takes.
#![cfg(feature = "async")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::executor::block_on;
use ratecell::waiting::{Acquire, WaitOutcome};
use ratecell::{Limiter, Policy, Request, Unsettled};

fn limiter(policy: &str) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    Limiter::builder(policy).max_keys(100).build().expect("a limiter")
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Task<'l> {
    future: Acquire<'l, &'static str>,
    woken: Arc<Woken>,
}

impl<'l> Task<'l> {
    /// Stands in line.
    fn begun(future: Acquire<'l, &'static str>) -> Self {
        let mut task = Self { future, woken: Arc::default() };
        assert!(task.poll().is_pending());
        task
    }

    fn poll(&mut self) -> Poll<<Acquire<'l, &'static str> as Future>::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        std::pin::Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }

    fn was_woken(&self) -> bool {
        self.woken.0.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn futures_go_in_their_order() {
    let limiter = limiter("2000/s burst=8");
    assert!(limiter.check_n("k", 8).is_allowed());
    let order = std::sync::Mutex::new(Vec::new());
    let one = async |cost| {
        assert!(limiter.acquire("k").cost(cost).await.expect("it goes").is_allowed());
        order.lock().expect("no panic").push(cost);
    };
    block_on(futures::future::join4(one(8), one(1), one(2), one(3)));
    assert_eq!(order.into_inner().expect("no panic"), [8, 1, 2, 3]);
}

#[test]
fn futures_wait_in_threads() {
    let limiter = limiter("5000/s burst=1");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let _ = block_on(limiter.acquire("k").within(Duration::from_secs(60))).expect("it goes");
                }
            });
        }
    });
}

#[test]
fn a_newcomer_does_not_pass() {
    let limiter = limiter("10/h burst=10");
    assert!(limiter.check_n("k", 5).is_allowed());
    let large = Task::begun(limiter.acquire("k").cost(10));
    // There are units, and little time.
    for within in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(60)] {
        let late = block_on(limiter.acquire("k").within(within)).expect_err("a unit of the first");
        assert_eq!(late.outcome(), WaitOutcome::Late);
        assert!(late.after() > Some(Duration::from_secs(1000)) && late.decision().is_none(), "{late:?}");
        assert!(late.to_string().starts_with("it cannot go in time: not before "), "{late}");
    }
    assert_eq!(limiter.peek("k").remaining(), 5);
    drop(large);
    let _ = block_on(limiter.acquire("k").within(Duration::ZERO)).expect("nobody is before it");
}

#[test]
fn a_future_that_is_dropped_lets_the_next_go_and_has_taken_nothing() {
    let limiter = limiter("10/h burst=10");
    assert!(limiter.check_n("k", 5).is_allowed());
    let first = Task::begun(limiter.acquire("k").cost(10));
    let mut second = Task::begun(limiter.acquire("k").cost(2));
    let mut third = Task::begun(limiter.acquire("k").cost(3));
    drop(first);
    assert!(second.was_woken() && !third.was_woken());
    // Its turn has come, and it has not had it: it is charged in its own poll.
    assert_eq!(limiter.peek("k").remaining(), 5);
    drop(second);
    assert!(third.was_woken());
    assert!(matches!(third.poll(), Poll::Ready(Ok(_))));
    assert_eq!(limiter.peek("k").remaining(), 2);
    second = Task { future: limiter.acquire("k"), woken: Arc::default() };
    assert!(matches!(second.poll(), Poll::Ready(Ok(decision)) if decision.remaining() == 1));
}

#[test]
fn forgotten_units_wake_the_first() {
    let limiter = limiter("1/h");
    assert!(limiter.check("k").is_allowed());
    let mut first = Task::begun(limiter.acquire("k"));
    let mut second = Task::begun(limiter.acquire("k"));
    assert!(!first.was_woken());
    assert!(limiter.forget("k"));
    assert!(first.was_woken() && !second.was_woken());
    assert!(matches!(first.poll(), Poll::Ready(Ok(_))));
    assert!(second.was_woken());
    assert!(second.poll().is_pending());
}

#[test]
fn what_a_guard_gives_back_wakes_the_first() {
    let kept = Unsettled::Keep;
    for (policy, unsettled) in [("1/h", Unsettled::Cancel), ("in_flight 1 hold=1h", kept)] {
        let limiter = limiter(policy);
        let held = limiter.hold(Request::new("k"), unsettled).expect("there is room");
        let mut first = Task::begun(limiter.acquire("k"));
        let mut other = Task::begun(limiter.acquire("k"));
        assert!(!first.was_woken());
        drop(held);
        assert!(first.was_woken() && !other.was_woken(), "{policy}");
        assert!(matches!(first.poll(), Poll::Ready(Ok(_))), "{policy}");
        assert!(other.poll().is_pending());
    }
    // What is kept wakes nobody.
    let limiter = limiter("1/h");
    let held = limiter.hold(Request::new("k"), kept).expect("there is room");
    let first = Task::begun(limiter.acquire("k"));
    drop(held);
    assert!(!first.was_woken());
}

#[test]
fn a_changed_policy_wakes_those_who_wait() {
    let limiter = limiter("4/365d");
    let change = |policy: &str| limiter.change(policy.parse().expect("a policy")).expect("it may follow");
    assert!(limiter.check_n("k", 4).is_allowed() && limiter.check_n("other", 4).is_allowed());
    let mut one = Task::begun(limiter.acquire("k"));
    let mut three = Task::begun(limiter.acquire("other").cost(3));
    change("4/365d burst=2");
    assert!(one.was_woken() && three.was_woken());
    assert!(one.poll().is_pending());
    assert!(matches!(three.poll(), Poll::Ready(Err(error)) if error.outcome() == WaitOutcome::Never));
    change("4/365d burst=20");
    assert!(matches!(one.poll(), Poll::Ready(Ok(_))));
    // More than the first policy could ever allow.
    assert!(block_on(limiter.acquire("new").cost(20)).is_ok());
}

#[test]
fn what_cannot_be_is_known_at_once() {
    let limiter = limiter("3/h");
    let never = block_on(limiter.acquire("k").cost(4)).expect_err("above the capacity");
    assert_eq!((never.outcome(), never.after(), never.decision()), (WaitOutcome::Never, None, None));
    let decision = block_on(limiter.acquire("k").cost(0)).expect("nothing is asked");
    assert_eq!(decision.remaining(), 3);
    let mut waiting: Vec<_> = Vec::new();
    assert!(limiter.check_n("k", 3).is_allowed());
    for _ in 0..1000 {
        waiting.push(Task::begun(limiter.acquire("k")));
    }
    let busy = block_on(limiter.acquire("k")).expect_err("1000 wait");
    assert_eq!(busy.outcome(), WaitOutcome::Busy);
}

package ratecell

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWaitIsExact(t *testing.T) {
	limiter := newTest(t, "200/s burst=1")
	started := limiter.Now()
	for i := 0; i < 5; i++ {
		if err := limiter.Wait(context.Background(), "k", 1); err != nil {
			t.Fatal(err)
		}
	}
	// Not a time that the test takes, but the policy's own: five units, one at once, take 20 ms or more.
	if took := limiter.Now() - started; took < 20e6 {
		t.Errorf("five units after %d ns of the limiter's clock, expected 20 ms or more", took)
	}
}

// waitError is the error of a wait, which must be for this reason.
func waitError(t *testing.T, err, reason error) *WaitError {
	t.Helper()
	var failed *WaitError
	if !errors.As(err, &failed) || !errors.Is(err, reason) || failed.Reason != reason {
		t.Fatalf("%v, expected a WaitError for: %v", err, reason)
	}
	return failed
}

func TestWaitReturnsBeforeItSleeps(t *testing.T) {
	limiter := newTest(t, "2/h burst=2")
	limiter.Allow("k")
	soon, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	failed := waitError(t, limiter.Wait(soon, "k", 2), ErrWouldExceedDeadline)
	if soon.Err() != nil {
		t.Error("it slept to the deadline")
	}
	if !errors.Is(failed, context.DeadlineExceeded) || errors.Is(failed, context.Canceled) || !failed.Reason.(interface{ Timeout() bool }).Timeout() {
		t.Errorf("%v is no deadline", failed)
	}
	if d := failed.Decision; d.Outcome != Denied || d.RetryAfter < 20*time.Minute || d.RetryAfter > 30*time.Minute {
		t.Errorf("the decision is %+v", d)
	}
	if text := failed.Error(); !strings.Contains(text, "cost 2") || !strings.Contains(text, "deadline (not before 2") {
		t.Errorf("it says %q", text)
	}
	waitError(t, limiter.Wait(soon, "k", 3), ErrNever)
	cancel()
	waitError(t, limiter.Wait(soon, "k", 1), context.Canceled)
	if d := limiter.Peek("k"); d.Remaining != 1 {
		t.Errorf("a wait that failed took something: %+v", d)
	}
	if err := limiter.Wait(context.Background(), "k", 1); err != nil {
		t.Errorf("one unit was there: %v", err)
	}
}

// asleep runs a wait that can only end by end, and returns its error.
func asleep(limiter *Limiter, key string, cost uint32, end func(cancel func())) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error)
	go func() { result <- limiter.Wait(ctx, key, cost) }()
	end(cancel)
	return <-result
}

func TestCancelledWaitTakesNothing(t *testing.T) {
	limiter := newTest(t, "2/h burst=2")
	limiter.Allow("k")
	err := asleep(limiter, "k", 2, func(cancel func()) {
		time.Sleep(10 * time.Millisecond) // let it fall asleep; awake, it ends the same
		cancel()
	})
	waitError(t, err, context.Canceled)
	if !limiter.Allow("k") {
		t.Error("the unit that was there is gone")
	}
}

func TestCloseEndsWaits(t *testing.T) {
	limiter := newTest(t, "1/h")
	limiter.Allow("k")
	err := asleep(limiter, "k", 1, func(func()) {
		time.Sleep(10 * time.Millisecond)
		limiter.Close()
	})
	waitError(t, err, ErrClosed)
	waitError(t, limiter.Wait(context.Background(), "k", 1), ErrClosed)
}

// Who waits under a queue is admitted when it goes by its deadline, and has a place that others do not take.
func TestWaitInAQueueHasAPlace(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/h queue=5")
	if err := limiter.Wait(context.Background(), "k", 1); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	failed := waitError(t, limiter.Wait(soon, "k", 1), ErrWouldExceedDeadline)
	if failed.After < 59*time.Minute || limiter.Peek("k").Remaining != 5 {
		t.Errorf("the place in the queue: %+v", failed)
	}
	err := asleep(limiter, "k", 1, func(cancel func()) {
		standing(limiter, 1)
		if d := limiter.Peek("k"); d.Remaining != 4 {
			t.Errorf("it has no place: %+v", d)
		}
		cancel()
	})
	// Units at a place of the queue are not given back: others have been told when to go.
	if failed := waitError(t, err, context.Canceled); !failed.Decision.Allowed || limiter.Peek("k").Remaining != 4 {
		t.Errorf("who gave up while it was held: %+v", failed.Decision)
	}
	fast := newTest(t, "leaky_queue 200/s queue=5")
	started := fast.Now()
	for i := 0; i < 4; i++ {
		if err := fast.Wait(context.Background(), "k", 1); err != nil {
			t.Fatal(err)
		}
	}
	if took := fast.Now() - started; took < 15e6 {
		t.Errorf("four places after %d ns of the limiter's clock, expected 15 ms or more", took)
	}
}

// Units that go one after another: Wait returns when the last may go.
func TestWaitForSeveralUnitsOfAQueue(t *testing.T) {
	fast := newTest(t, "1000/s & leaky_queue 200/s queue=5")
	started := fast.Now()
	for i := 0; i < 2; i++ {
		if err := fast.Wait(context.Background(), "k", 3); err != nil {
			t.Fatal(err)
		}
	}
	if took := fast.Now() - started; took < 25e6 {
		t.Errorf("six units after %d ns of the limiter's clock, expected 25 ms or more", took)
	}
	slow := newTest(t, "leaky_queue 1/h queue=5")
	soon, cancel := context.WithTimeout(context.Background(), 90*time.Minute)
	defer cancel()
	waitError(t, slow.Wait(soon, "k", 3), ErrWouldExceedDeadline)
	waitError(t, slow.Wait(soon, "k", 7), ErrNever)
	if d := slow.Peek("k"); d.Remaining != 6 {
		t.Errorf("a wait that failed took something: %+v", d)
	}
}

// standing returns when so many stand in the lines of a limiter.
func standing(limiter *Limiter, n int64) {
	for limiter.native.Load().line.standing.Load() != n {
		time.Sleep(time.Millisecond)
	}
}

// A caller behind others learns at once what no wait would change, without the units that are theirs.
func TestWaitBehindOthers(t *testing.T) {
	limiter := newTest(t, "2/h burst=2")
	limiter.Allow("k")
	err := asleep(limiter, "k", 2, func(cancel func()) {
		standing(limiter, 1)
		soon, cancelSoon := context.WithTimeout(context.Background(), 20*time.Minute)
		defer cancelSoon()
		waitError(t, limiter.Wait(soon, "k", 2), ErrWouldExceedDeadline)
		waitError(t, limiter.Wait(soon, "k", 3), ErrNever)
		// It could go in 30 minutes by itself, but not after the one before it.
		later, cancelLater := context.WithTimeout(context.Background(), 80*time.Minute)
		defer cancelLater()
		failed := waitError(t, limiter.Wait(later, "k", 2), ErrWouldExceedDeadline)
		if later.Err() != nil || failed.After < 89*time.Minute || failed.After > 90*time.Minute {
			t.Errorf("behind another: %+v", failed)
		}
		if err := limiter.Wait(soon, "k", 0); err != nil {
			t.Errorf("a cost of 0 waits: %v", err)
		}
		if err := limiter.Wait(soon, "other", 1); err != nil {
			t.Errorf("another key waits: %v", err)
		}
		// There is one unit, but it is not this caller's turn.
		behind := asleep(limiter, "k", 1, func(cancel func()) {
			standing(limiter, 2)
			cancel()
		})
		waitError(t, behind, context.Canceled)
		cancel()
	})
	waitError(t, err, context.Canceled)
	if d := limiter.Peek("k"); d.Remaining != 1 {
		t.Errorf("a wait that failed took something: %+v", d)
	}
	if err := limiter.Wait(context.Background(), "k", 1); err != nil {
		t.Errorf("nobody is before it: %v", err)
	}
}

func TestCloseEndsWholeLines(t *testing.T) {
	limiter := newTest(t, "1/h")
	n := limiter.native.Load()
	const waiters = 10
	results := make(chan error, 2*waiters)
	for _, key := range []string{"a", "b"} {
		limiter.Allow(key)
		for i := 0; i < waiters; i++ {
			key := key
			go func() { results <- limiter.Wait(context.Background(), key, 1) }()
		}
	}
	standing(limiter, 2*waiters)
	limiter.Close()
	for i := 0; i < 2*waiters; i++ {
		waitError(t, <-results, ErrClosed)
	}
	if len(n.line.waiters) != 0 || n.line.standing.Load() != 0 || n.line.stop != nil {
		t.Errorf("%d waiters are left, a timer is set: %v", len(n.line.waiters), n.line.stop != nil)
	}
}

// Callers who ask for less, again and again, do not take what a larger cost waits for.
func TestALargerCostIsServed(t *testing.T) {
	limiter := newTest(t, "500/s burst=10")
	limiter.AllowN("k", 10)
	large := make(chan error, 1)
	go func() { large <- limiter.Wait(context.Background(), "k", 10) }()
	standing(limiter, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var served atomic.Int64
	for i := 0; i < 20; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for limiter.Wait(ctx, "k", 1) == nil {
				if served.Add(1) == 1000 {
					cancel()
				}
			}
		}()
	}
	select {
	case err := <-large:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Errorf("%d small costs were served before the larger one, which was there first", served.Load())
		limiter.Close()
	}
	cancel()
	all.Wait()
}

func TestManyWaitersAreAllServed(t *testing.T) {
	limiter := newTest(t, "500/s burst=1")
	const waiters = 20
	results := make(chan error, waiters)
	started := limiter.Now()
	for i := 0; i < waiters; i++ {
		go func() { results <- limiter.Wait(context.Background(), "k", 1) }()
	}
	for i := 0; i < waiters; i++ {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if took := limiter.Now() - started; took < (waiters-1)*2e6 {
		t.Errorf("%d units after %d ns: more than the policy allows", waiters, took)
	}
	if line := &limiter.native.Load().line; len(line.waiters) != 0 || line.standing.Load() != 0 {
		t.Errorf("%d waiters are left", len(line.waiters))
	}
}

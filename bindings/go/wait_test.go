package ratecell

import (
	"context"
	"errors"
	"strings"
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
	if text := failed.Error(); !strings.Contains(text, "cost 2") || !strings.Contains(text, "deadline (it goes in 2") {
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

func TestWaitInAQueue(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/h queue=5")
	if err := limiter.Wait(context.Background(), "k", 1); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	failed := waitError(t, limiter.Wait(soon, "k", 1), ErrWouldExceedDeadline)
	if !failed.Decision.Allowed || failed.Decision.Delay < 59*time.Minute {
		t.Errorf("the place in the queue: %+v", failed.Decision)
	}
	if d := limiter.Peek("k"); d.Remaining != 4 {
		t.Errorf("the place is charged: %+v", d)
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
}

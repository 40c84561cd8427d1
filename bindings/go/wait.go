//go:build cgo

package ratecell

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a [WaitError] wraps, beside [ErrClosed] and the context's own errors.
var (
	// ErrNever: the cost exceeds the capacity; no wait would help.
	ErrNever = errors.New("the cost exceeds the capacity and can never be allowed")
	// ErrClockRange: the time is past what the policy's state can tell.
	ErrClockRange = errors.New("the time is past what the policy can tell")
	// ErrWouldExceedDeadline: the context's deadline comes before the request could go. To errors.Is it is a
	// context.DeadlineExceeded as well, although the deadline is still to come.
	ErrWouldExceedDeadline error = wouldExceed{}
)

type wouldExceed struct{}

func (wouldExceed) Error() string        { return "would exceed the context's deadline" }
func (wouldExceed) Timeout() bool        { return true }
func (wouldExceed) Is(target error) bool { return target == context.DeadlineExceeded }

// WaitError is why [Limiter.Wait] did not wait until the request could go.
type WaitError struct {
	// Cost is what was asked for.
	Cost uint32
	// Decision is the last answer. Nothing was charged unless it is Allowed, which happens only under a
	// leaky_queue.
	Decision Decision
	// Reason is ErrNever, ErrClockRange, ErrClosed, ErrWouldExceedDeadline, or the context's error.
	Reason error
}

// Error says what was waited for, and why that ended.
func (e *WaitError) Error() string {
	text := fmt.Sprintf("ratecell: wait for cost %d: %v", e.Cost, e.Reason)
	if wait := e.Decision.RetryAfter + e.Decision.Delay; e.Reason == ErrWouldExceedDeadline {
		text += fmt.Sprintf(" (it goes in %v)", wait)
	}
	return text
}

// Unwrap is the Reason.
func (e *WaitError) Unwrap() error {
	return e.Reason
}

// Wait returns nil when cost units of a key are allowed and charged, after sleeping for as long as that must
// take. It charges nothing before: a wait that ends with an error has taken nothing and has nothing to give
// back.
//
// It returns a [*WaitError]: before it sleeps, if the context is done or has a deadline before the key could be
// allowed, or the cost exceeds the capacity; at once, when the context is done or the limiter is closed while
// it sleeps.
//
// Those who wait for one key hold no places: whoever comes when units are there takes them, and the others sleep
// again. They are not served in the order in which they came. For an order use a leaky_queue, whose places are
// charged when they are taken: there Wait sleeps for the decision's Delay too, and when it ends before that,
// with an error whose Decision is Allowed, the place stays charged.
func (l *Limiter) Wait(ctx context.Context, key string, cost uint32) error {
	n := l.native.Load()
	if n == nil {
		return &WaitError{cost, undecided(), ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &WaitError{cost, Decision{}, err}
	}
	for {
		d := l.Check(key, cost)
		reason := error(nil)
		switch d.Outcome {
		case Allowed:
			if d.Delay > 0 {
				reason = n.sleep(ctx, d.Delay)
			}
			if reason == nil {
				return nil
			}
		case Denied:
			reason = n.sleep(ctx, d.RetryAfter)
		case Never:
			reason = ErrNever
		case ClockRange:
			reason = ErrClockRange
		default:
			reason = ErrClosed
		}
		if reason != nil {
			return &WaitError{cost, d, reason}
		}
	}
}

// sleep returns nil after d, and why it would not or did not sleep so long.
func (n *native) sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return ErrWouldExceedDeadline
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-n.closed:
		return ErrClosed
	}
}

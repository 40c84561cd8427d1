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
	// ErrNoZone: the policy has tz=caller, and who waits names no zone.
	ErrNoZone = errors.New("the policy asks for a zone, and who waits names none")
	// ErrClockRange: the time is past what the policy's state can tell.
	ErrClockRange = errors.New("the time is past what the policy can tell")
	// ErrBusy: as many wait for the key already as may, 1000, or 100,000 for all keys.
	ErrBusy = errors.New("too many wait already")
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
	// Decision is the last answer, or the zero Decision if the limiter was not asked. Nothing was charged, unless it
	// is Allowed, which [Limiter.Wait] explains.
	Decision Decision
	// After is the time before which the request could not have gone, from when that was known; 0 if it is not known.
	After time.Duration
	// Reason is ErrNever, ErrNoZone, ErrClockRange, ErrClosed, ErrBusy, ErrWouldExceedDeadline, or the context's error.
	Reason error
}

// Error says what was waited for, and why that ended.
func (e *WaitError) Error() string {
	text := fmt.Sprintf("ratecell: wait for cost %d: %v", e.Cost, e.Reason)
	if e.After > 0 {
		text += fmt.Sprintf(" (not before %v from now)", e.After)
	}
	return text
}

// Unwrap is the Reason.
func (e *WaitError) Unwrap() error {
	return e.Reason
}

// Wait sleeps until cost units of a key are allowed, charges them, and returns nil. A cost of 0 returns nil at once.
//
// The error is a [*WaitError], and nothing was charged. Wait returns it before it sleeps if the context is done, if the
// cost exceeds the capacity, or if the request cannot go by the context's deadline while those in front of it stay.
// While it sleeps, it returns at once when the context is done, the limiter is closed, or the deadline cannot be met
// any more.
//
// Callers who wait for one key of one Limiter are served in the order in which they came, whatever their costs and
// deadlines: only the first of them asks, and nobody who comes later takes what it waits for. Nobody else stands in
// that line: another process that shares the file, a limiter made by [Limiter.WithPolicy], and calls of Check and Allow
// take units when they find them.
//
// Under a leaky_queue, the request takes its place in the queue as soon as there is one from which it goes by the
// deadline, and Wait returns when it has its turn. If the context is done or the limiter closed between the two, the
// cost stays charged, and the error's Decision is Allowed.
func (l *Limiter) Wait(ctx context.Context, key string, cost uint32) error {
	n := l.native.Load()
	if n == nil {
		return &WaitError{Cost: cost, Decision: undecided(), Reason: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &WaitError{Cost: cost, Reason: err}
	}
	w, ended := n.begin(ctx, key, cost)
	if !ended {
		select {
		case <-w.done:
		case <-ctx.Done():
			n.giveUp(w)
		}
	}
	if w.outcome == waitGo {
		return nil
	}
	return &WaitError{cost, w.decision, w.after, w.reason(ctx)}
}

// begin has a caller stand in line; ended is whether that has ended at once. If not, the waiter may be looked at when
// done is closed.
func (n *native) begin(ctx context.Context, key string, cost uint32) (w *waiter, ended bool) {
	n.line.mutex.Lock()
	defer n.line.mutex.Unlock()
	nowNs, byNs := n.now(), noInstant
	if deadline, ok := ctx.Deadline(); ok {
		byNs = instantIn(nowNs, n.watch.until(deadline))
	}
	w = n.arrive(nowNs, key, cost, byNs)
	n.arm(nowNs)
	return w, w.ended
}

// giveUp ends a waiter whose context is done. What is due by the deadline itself goes.
func (n *native) giveUp(w *waiter) {
	n.line.mutex.Lock()
	defer n.line.mutex.Unlock()
	n.happened(waitEvent{kind: waitTimer})
	n.happened(waitEvent{kind: waitCancel, id: w.id})
}

func (w *waiter) reason(ctx context.Context) error {
	switch w.outcome {
	case waitNever:
		if w.decision.NoZone() {
			return ErrNoZone
		}
		return ErrNever
	case waitClockRange:
		return ErrClockRange
	case waitBusy:
		return ErrBusy
	case waitLate, waitCancelled:
		if err := ctx.Err(); err != nil {
			return err
		}
		return ErrWouldExceedDeadline
	}
	return ErrClosed
}

// instantIn is the instant after, or before, another; before noInstant.
func instantIn(nowNs uint64, d time.Duration) uint64 {
	if d < 0 {
		if uint64(-d) > nowNs {
			return 0
		}
		return nowNs - uint64(-d)
	}
	if uint64(d) >= noInstant-nowNs {
		return noInstant - 1
	}
	return nowNs + uint64(d)
}

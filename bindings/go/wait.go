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
	// Decision is the last answer, or the zero Decision if there was none. Nothing was charged, unless it is
	// Allowed: see [Limiter.Wait] about a leaky_queue.
	Decision Decision
	// Reason is ErrNever, ErrClockRange, ErrClosed, ErrWouldExceedDeadline, or the context's error.
	Reason error
}

// Error says what was waited for, and why that ended.
func (e *WaitError) Error() string {
	text := fmt.Sprintf("ratecell: wait for cost %d: %v", e.Cost, e.Reason)
	if e.Reason == ErrWouldExceedDeadline && e.Decision.RetryAfter > 0 {
		text += fmt.Sprintf(" (not before %v from now)", e.Decision.RetryAfter)
	}
	return text
}

// Unwrap is the Reason.
func (e *WaitError) Unwrap() error {
	return e.Reason
}

// Wait returns nil when cost units of a key are allowed and charged, after sleeping for as long as that must
// take. It takes nothing before it goes, no place in a leaky_queue either: a wait that ends with an error has
// nothing to give back.
//
// It returns a [*WaitError]: before it sleeps, if the context is done or has a deadline before the key could be
// allowed, or the cost exceeds the capacity; at once, when the context is done or the limiter is closed while
// it sleeps.
//
// Those who wait for one key on one Limiter are served in the order in which they came, whatever their costs:
// only the first asks, and the others sleep until it has gone or given up. That order is this process's and this
// Limiter's. Between processes that share a file, and between limiters of [Limiter.WithPolicy], whoever asks when
// units are there takes them; so do Check and Allow, which stand in no line.
//
// Under a leaky_queue, a cost of more units than may go at one instant is held even when nothing is before it: its
// units go one after another. It is charged when the first can go, and Wait returns when the last can. Ended
// between the two, it stays charged, and the error's Decision is Allowed.
func (l *Limiter) Wait(ctx context.Context, key string, cost uint32) error {
	if d, reason := l.wait(ctx, key, cost); reason != nil {
		return &WaitError{cost, d, reason}
	}
	return nil
}

// errDenied is the reason of who may sleep and ask again. It is never returned to a caller of Wait.
var errDenied = errors.New("denied")

func (l *Limiter) wait(ctx context.Context, key string, cost uint32) (d Decision, reason error) {
	n := l.native.Load()
	if n == nil {
		return undecided(), ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	w := waiter{limiter: l, native: n, ctx: ctx, key: key, cost: cost, hold: l.delayAlone(cost)}
	if cost > 0 && n.lines.occupied(key) {
		d, reason = w.foresee()
	} else {
		d, reason = w.ask()
	}
	if reason != errDenied {
		return d, reason
	}
	p := n.lines.join(key)
	defer n.lines.leave(p)
	select {
	case <-p.turn:
	case <-ctx.Done():
		return d, ctx.Err()
	case <-n.closed:
		return d, ErrClosed
	}
	for {
		if d, reason = w.ask(); reason != errDenied {
			return d, reason
		}
		if reason = w.sleep(d.RetryAfter); reason != nil {
			return d, reason
		}
	}
}

// waiter is one call of Wait.
type waiter struct {
	limiter *Limiter
	native  *native
	ctx     context.Context
	key     string
	cost    uint32
	hold    time.Duration // the Delay that the cost has with nothing before it
}

// ask takes the units if they can go now, with no delay for those before.
func (w *waiter) ask() (Decision, error) {
	if w.hold > 0 && w.passesDeadline(0) {
		return Decision{}, ErrWouldExceedDeadline
	}
	return w.settle(w.limiter.CheckWithin(w.key, w.cost, w.hold))
}

// foresee is ask for who is not the first, and takes nothing that may be another's: what is not there at one instant
// is only asked for at that same instant, to learn when it will be, or that it never is.
func (w *waiter) foresee() (Decision, error) {
	now := w.native.now()
	if w.native.checkAt(w.key, 0, now).Remaining >= uint64(w.cost) {
		return Decision{}, errDenied
	}
	return w.settle(w.limiter.CheckWithinAt(w.key, w.cost, w.hold, now))
}

// settle is what follows from an answer: no error if the request has gone, errDenied if it may ask again.
func (w *waiter) settle(d Decision) (Decision, error) {
	switch d.Outcome {
	case Allowed:
		if d.Delay > 0 {
			return d, w.sleep(d.Delay)
		}
		return d, nil
	case Denied:
		if w.passesDeadline(d.RetryAfter) {
			return d, ErrWouldExceedDeadline
		}
		return d, errDenied
	case Never:
		return d, ErrNever
	case ClockRange:
		return d, ErrClockRange
	}
	return d, ErrClosed
}

// passesDeadline is whether the context's deadline comes before what is asked for after d is over.
func (w *waiter) passesDeadline(d time.Duration) bool {
	deadline, ok := w.ctx.Deadline()
	return ok && time.Until(deadline)-w.hold < d
}

// sleep returns nil after d, and why it did not sleep so long.
func (w *waiter) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-w.native.closed:
		return ErrClosed
	}
}

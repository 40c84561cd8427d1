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
	// Allowed, which [Limiter.Wait] explains.
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

// Wait sleeps until cost units of a key are allowed, charges them, and returns nil. It charges nothing before that,
// and takes no place in a leaky_queue: a wait that ends with an error has nothing to give back. (One case is
// otherwise; see the last paragraph.)
//
// The error is a [*WaitError]. Wait returns it before it sleeps if the context is done, if the key cannot be allowed
// before the context's deadline, or if the cost exceeds the capacity. While it sleeps, it returns at once when the
// context is done or the limiter is closed.
//
// Callers who wait for one key of one Limiter are served in the order in which they came, whatever their costs.
// Only the first of them asks; the others sleep until it has gone or given up. A caller behind others may therefore
// sleep to its deadline because they took what there was. Nobody else stands in that line: another process that
// shares the file, a limiter made by [Limiter.WithPolicy], and calls of Check and Allow take units when they find
// them.
//
// Under a leaky_queue, the units of a larger cost go one after another, so it has a Delay even if nothing is before
// it. Such a cost is charged when its first unit can go, and Wait returns nil when its last unit can. If the wait
// ends between the two, the cost stays charged, and the error's Decision is Allowed.
func (l *Limiter) Wait(ctx context.Context, key string, cost uint32) error {
	if d, reason := l.wait(ctx, key, cost); reason != nil {
		return &WaitError{cost, d, reason}
	}
	return nil
}

// errDenied says that the caller may sleep and ask again. Wait never returns it.
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

func (w *waiter) request() Request {
	return NewRequest(w.key).Cost(w.cost).Within(w.hold)
}

// ask takes the units if they can go now, without a delay for what is before them.
func (w *waiter) ask() (Decision, error) {
	if w.hold > 0 && w.passesDeadline(0) {
		return Decision{}, ErrWouldExceedDeadline
	}
	return w.settle(w.limiter.Decide(w.request()))
}

// foresee is ask for a caller who is not the first in its line, from whom it takes nothing. It asks only for units
// that are not there, and at the instant of that finding, so that the answer is a denial: it tells when they can be
// there at the earliest, or that they never can.
func (w *waiter) foresee() (Decision, error) {
	now := w.native.now()
	if w.native.checkAt(w.key, 0, now).Remaining >= uint64(w.cost) {
		return Decision{}, errDenied
	}
	return w.settle(w.limiter.Decide(w.request().At(now)))
}

// settle tells what follows from an answer: no error if the request has gone, errDenied if it may ask again.
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

// passesDeadline tells whether a request that is allowed after d would go later than the context's deadline.
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

//go:build cgo

// Package rate has the Limiter of golang.org/x/time/rate on ratecell's core: the same names and semantics, so that a program
// changes over by its import. It limits one thing, without keys; package ratecell limits many, in less memory.
//
// What differs:
//
//   - A rate is an exact fraction, within a hundred-thousandth of the Limit, and no token is lost or won by rounding: Every(d)
//     is one each d. A Limit above 4,294,967,295 is Inf, and one below one token in some decades, or by which the burst takes
//     centuries to fill, is 0.
//   - A time before that of an earlier call finds the tokens that were taken since taken; x/time/rate gives the time in between
//     a second time.
//   - Cancel gives the tokens back of the latest reservation alone; x/time/rate gives back a part of earlier ones, too.
//   - SetBurst to a greater burst gives the difference at once; x/time/rate lets it fill at the Limit.
//   - A reservation is for 2^32 - 2 tokens at most, and one further ahead than 2^28 tokens, or fewer of slow rates, is not OK.
//   - ReserveN and AllowN of 0 tokens or fewer are always OK, and take nothing.
//   - A time some months before the Limiter was made, or ten years after, as of a test's clock, is of another clock: of a bucket
//     that has the tokens of now.
//   - There is no Sometimes.
package rate

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Limit is the most tokens a second. 0 allows no events beyond the burst that is there; below 0 it is 0.
type Limit float64

// Inf is the Limit by which all events are allowed, also where the burst is 0.
const Inf = Limit(math.MaxFloat64)

// InfDuration is the delay of a reservation that is not OK.
const InfDuration = ratecell.InfDuration

// Every is the Limit by which events are at least an interval apart. An interval of 0 or less is Inf.
func Every(interval time.Duration) Limit {
	if interval <= 0 {
		return Inf
	}
	return 1 / Limit(interval.Seconds())
}

// Limiter is a bucket of burst tokens that fills at a Limit. NewLimiter makes one; the zero Limiter allows nothing. Any number
// of goroutines may use it at once. It must not be copied.
type Limiter struct {
	mutex sync.Mutex             // of those who change it
	state atomic.Pointer[bucket] // nil: the zero Limiter
}

// NewLimiter makes a Limiter with a full bucket. It panics if there is no memory for one.
func NewLimiter(r Limit, b int) *Limiter {
	lim := new(Limiter)
	lim.state.Store(newBucket(r, b, time.Now(), float64(b)))
	return lim
}

func (lim *Limiter) bucket() *bucket {
	if b := lim.state.Load(); b != nil {
		return b
	}
	return new(bucket)
}

// at is the bucket that can tell a time. One of another date, as that of a test's clock, has a bucket of its own, with the
// tokens that are there.
func (lim *Limiter) at(t time.Time) *bucket {
	if b := lim.bucket(); b.tells(t) {
		return b
	}
	lim.mutex.Lock()
	defer lim.mutex.Unlock()
	return lim.moved(t)
}

// moved is at, for who has the mutex.
func (lim *Limiter) moved(t time.Time) *bucket {
	b := lim.bucket()
	if b.tells(t) {
		return b
	}
	tokens := float64(b.burst)
	if now := time.Now(); t.After(b.origin) {
		tokens = b.tokens(t)
	} else if b.tells(now) {
		tokens = b.tokens(now)
	}
	b = newBucket(b.limit, b.burst, t, tokens)
	lim.state.Store(b)
	return b
}

// Limit is the most tokens a second.
func (lim *Limiter) Limit() Limit { return lim.bucket().limit }

// Burst is the most tokens at once.
func (lim *Limiter) Burst() int { return lim.bucket().burst }

// Tokens is TokensAt(time.Now()).
func (lim *Limiter) Tokens() float64 { return lim.TokensAt(time.Now()) }

// TokensAt is the tokens that are there at a time; below 0 where some are reserved ahead.
func (lim *Limiter) TokensAt(t time.Time) float64 { return lim.at(t).tokens(t) }

// Allow is AllowN(time.Now(), 1).
func (lim *Limiter) Allow() bool { return lim.AllowN(time.Now(), 1) }

// AllowN takes n tokens at a time if they are there, and reports whether they were. An n below 0 is 0.
func (lim *Limiter) AllowN(t time.Time, n int) bool {
	_, _, ok := lim.at(t).take(t, n, 0, false)
	return ok
}

// Reserve is ReserveN(time.Now(), 1).
func (lim *Limiter) Reserve() *Reservation { return lim.ReserveN(time.Now(), 1) }

// ReserveN takes n tokens, ahead of time if they are not there yet: the Reservation says how long to wait before acting. It is
// not OK if n exceeds the burst.
func (lim *Limiter) ReserveN(t time.Time, n int) *Reservation {
	return lim.reserve(t, n, InfDuration)
}

func (lim *Limiter) reserve(t time.Time, n int, longest time.Duration) *Reservation {
	b := lim.at(t)
	delay, held, ok := b.take(t, n, longest, true)
	return &Reservation{ok: ok, act: t.Add(delay), held: held, of: b}
}

// Wait is WaitN(ctx, 1).
func (lim *Limiter) Wait(ctx context.Context) error { return lim.WaitN(ctx, 1) }

// WaitN blocks until n tokens are there, and takes them. The error says that n exceeds the burst, that the wait would exceed
// the context's deadline, or is the context's; then nothing is taken, as far as Cancel gives it back.
func (lim *Limiter) WaitN(ctx context.Context, n int) error {
	if b := lim.bucket(); n > b.burst && b.limit != Inf {
		return fmt.Errorf("rate: Wait(n=%d) exceeds limiter's burst %d", n, b.burst)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now, longest := time.Now(), InfDuration
	if deadline, ok := ctx.Deadline(); ok {
		longest = deadline.Sub(now)
	}
	r := lim.reserve(now, n, longest)
	if !r.OK() {
		return fmt.Errorf("rate: Wait(n=%d) would exceed context deadline", n)
	}
	delay := r.DelayFrom(now)
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return ctx.Err()
	}
}

// SetLimit is SetLimitAt(time.Now(), newLimit).
func (lim *Limiter) SetLimit(newLimit Limit) { lim.SetLimitAt(time.Now(), newLimit) }

// SetLimitAt sets another Limit from a time on. The tokens that are there stay, and so do those that are reserved ahead.
func (lim *Limiter) SetLimitAt(t time.Time, newLimit Limit) {
	lim.mutex.Lock()
	defer lim.mutex.Unlock()
	b := lim.moved(t)
	lim.state.Store(b.changed(t, newLimit, b.burst))
}

// SetBurst is SetBurstAt(time.Now(), newBurst).
func (lim *Limiter) SetBurst(newBurst int) { lim.SetBurstAt(time.Now(), newBurst) }

// SetBurstAt sets another burst from a time on. The tokens that are taken stay so.
func (lim *Limiter) SetBurstAt(t time.Time, newBurst int) {
	lim.mutex.Lock()
	defer lim.mutex.Unlock()
	b := lim.moved(t)
	lim.state.Store(b.changed(t, b.limit, newBurst))
}

// Reservation is tokens that were taken ahead of time.
type Reservation struct {
	ok   bool
	act  time.Time
	held *ratecell.Reservation
	of   *bucket
}

// OK is whether the tokens were reserved. If not, the delay is InfDuration, and Cancel does nothing.
func (r *Reservation) OK() bool { return r.ok }

// Delay is DelayFrom(time.Now()).
func (r *Reservation) Delay() time.Duration { return r.DelayFrom(time.Now()) }

// DelayFrom is how long to wait from a time before acting.
func (r *Reservation) DelayFrom(t time.Time) time.Duration {
	if !r.ok {
		return InfDuration
	}
	if delay := r.act.Sub(t); delay > 0 {
		return delay
	}
	return 0
}

// Cancel is CancelAt(time.Now()).
func (r *Reservation) Cancel() { r.CancelAt(time.Now()) }

// CancelAt says that the reserved action will not be taken: the tokens are given back if its time has not passed, and nobody
// has reserved after it.
func (r *Reservation) CancelAt(t time.Time) {
	if r.ok && r.held != nil && !r.act.Before(t) {
		r.held.SettleAt(0, r.of.instant(t))
	}
}

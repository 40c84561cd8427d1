package ratecell

/*
#include "calls.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Clock is a clock for tests, which [WithClock] gives a limiter. Any number of goroutines may use it at once.
type Clock interface {
	// Now is the time.
	Now() time.Time
	// AfterFunc calls a function in so long a time, which may be 0, and not before AfterFunc has returned. What it returns
	// keeps the function from being called, and reports whether it did.
	AfterFunc(in time.Duration, call func()) (stop func() bool)
}

// WithClock makes a limiter, or rules, whose time is a clock's instead of the system's: every decision without an instant of
// its own, [Limiter.Wait], reservations, changes and stats. It is for tests: ratecelltest has a clock that a test moves, and
// [GoClock] is for bubbles of testing/synctest. Without [Epoch] times are counted from the Monday before the clock's; what the
// clock tells before that is the epoch itself.
//
// A context's deadline is taken as a time of the clock. Only [New] and [NewRules] take it: a file is shared with others, who
// have the system's clock.
func WithClock(clock Clock) Option {
	return func(c *config) error {
		if clock == nil {
			return errors.New("ratecell: WithClock(nil): expected a clock, such as ratecelltest.NewClock(time.Now())")
		}
		if now := clock.Now(); now.Unix() < firstMonday {
			return fmt.Errorf("ratecell: WithClock of a clock at %v: expected the first Monday of 1970, or later", now)
		}
		c.clock = clock
		return nil
	}
}

// GoClock is the clock of package time. In a bubble of testing/synctest that is the bubble's.
func GoClock() Clock { return goClock{} }

type goClock struct{}

func (goClock) Now() time.Time { return time.Now() }

func (goClock) AfterFunc(in time.Duration, call func()) func() bool {
	return time.AfterFunc(in, call).Stop
}

var errClockOfFile = errors.New("ratecell: WithClock of a file: expected a limiter of New, or NewRules; others who share the file have the system's clock")

// watch is a Clock in nanoseconds since an epoch. nil: the C library takes the system's.
type watch struct {
	clock   Clock
	epochNs int64
}

const (
	daySeconds  = 24 * 60 * 60
	weekSeconds = 7 * daySeconds
	firstMonday = 4 * daySeconds // of 1970
)

// watched is the watch by these options, whose epoch is then set.
func (c *config) watched() *watch {
	if c.clock == nil {
		return nil
	}
	if c.epoch == 0 {
		now := c.clock.Now().Unix()
		c.epoch = now - (now-firstMonday)%weekSeconds
	}
	return &watch{c.clock, c.epoch * int64(time.Second)}
}

func (w *watch) now() uint64 {
	since := w.clock.Now().UnixNano() - w.epochNs
	if since < 0 {
		return 0
	}
	return uint64(since)
}

// instantOf is the flags and the instant of a call that has these: the watch's, if there is one and the call has no instant.
func instantOf[F ~uint32](w *watch, flags F, nowNs uint64) (F, uint64) {
	if w == nil || flags&C.RATECELL_AT != 0 {
		return flags, nowNs
	}
	return flags | C.RATECELL_AT, w.now()
}

// set gives a request that has no instant of its own the watch's.
func (w *watch) set(asked *C.go_asked) {
	if w != nil && asked.flags&C.RATECELL_AT == 0 {
		asked.flags |= C.RATECELL_AT
		asked.now_ns = C.uint64_t(w.now())
	}
}

// wall is the time of day.
func (w *watch) wall() time.Time {
	if w == nil {
		return time.Now()
	}
	return w.clock.Now()
}

func (w *watch) until(deadline time.Time) time.Duration {
	if w == nil {
		return time.Until(deadline)
	}
	return deadline.Sub(w.clock.Now())
}

func (w *watch) afterFunc(in time.Duration, call func()) (stop func() bool) {
	if w == nil {
		return time.AfterFunc(in, call).Stop
	}
	return w.clock.AfterFunc(in, call)
}

// sleep reports whether the context is still alive when the time is over.
func (w *watch) sleep(ctx context.Context, delay time.Duration) bool {
	over := make(chan struct{})
	stop := w.afterFunc(delay, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// Package ratecelltest has a clock for tests of programs that limit by ratecell.
//
//	clock := ratecelltest.NewClock(time.Now())
//	limiter, err := ratecell.New("2/1h", ratecell.WithClock(clock))
//	…
//	clock.Advance(30 * time.Minute)
package ratecelltest

import (
	"fmt"
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it. [NewClock] makes one. Any number of goroutines may use it at once;
// it must not be copied.
type Clock struct {
	mutex   sync.Mutex
	changed *sync.Cond // the timers have
	now     time.Time
	timers  map[*timer]struct{}
	set     uint64
}

type timer struct {
	at    time.Time
	order uint64
	call  func()
}

// NewClock makes a clock that stands at a time. Where contexts have deadlines, that is the time of the system: a context of
// package context ends by that clock, too.
func NewClock(now time.Time) *Clock {
	c := &Clock{now: now.Round(0), timers: map[*timer]struct{}{}}
	c.changed = sync.NewCond(&c.mutex)
	return c
}

// Now is the time to which the clock was moved.
func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// AfterFunc is for the limiter: a function that [Clock.Advance] calls when it comes to its time. In no time it is called at
// once, in a goroutine of its own.
func (c *Clock) AfterFunc(in time.Duration, call func()) (stop func() bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if in <= 0 {
		go call()
		return func() bool { return false }
	}
	c.set++
	t := &timer{c.now.Add(in), c.set, call}
	c.timers[t] = struct{}{}
	c.changed.Broadcast()
	return func() bool { return c.remove(t) }
}

func (c *Clock) remove(t *timer) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, is := c.timers[t]
	delete(c.timers, t)
	c.changed.Broadcast()
	return is
}

// Advance moves the clock on, and calls what is due on the way, each at its own time and in its order, before it returns.
// Whoever waits for it goes on in a goroutine of its own. It panics if the time is below 0.
func (c *Clock) Advance(by time.Duration) {
	if by < 0 {
		panic(fmt.Sprintf("ratecelltest: Advance(%v): expected a time of 0 or more", by))
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	end := c.now.Add(by)
	for {
		first := c.first()
		if first == nil || first.at.After(end) {
			break
		}
		delete(c.timers, first)
		c.changed.Broadcast()
		if first.at.After(c.now) {
			c.now = first.at
		}
		c.mutex.Unlock()
		first.call()
		c.mutex.Lock()
	}
	if end.After(c.now) {
		c.now = end
	}
}

func (c *Clock) first() (first *timer) {
	for t := range c.timers {
		if first == nil || t.at.Before(first.at) || t.at.Equal(first.at) && t.order < first.order {
			first = t
		}
	}
	return first
}

// AwaitTimers blocks until as many timers are set, or more: a test that moves the clock for goroutines in Wait calls it before.
// All who wait in one limiter have one timer; a middleware has one for each request that it holds.
func (c *Clock) AwaitTimers(n int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for len(c.timers) < n {
		c.changed.Wait()
	}
}

package ratecell

import (
	"errors"
	"testing"
	"time"
)

// world is a limiter and its line at instants that a test makes up: no clock is read and no timer is armed.
type world struct {
	*testing.T
	n   *native
	now uint64
}

func newWorld(t *testing.T, policy string) *world {
	return &world{t, newTest(t, policy).native.Load(), 0}
}

func (w *world) arrive(cost uint32, byNs uint64) *waiter {
	w.n.line.mutex.Lock()
	defer w.n.line.mutex.Unlock()
	return w.n.arrive(w.now, "k", cost, byNs)
}

func (w *world) happens(event waitEvent) {
	w.n.line.mutex.Lock()
	defer w.n.line.mutex.Unlock()
	event.nowNs = w.now
	if err := w.n.handIn(event); err != nil {
		w.Fatal(err)
	}
}

// due goes to the instant at which the machine is due.
func (w *world) due() bool {
	next := w.n.line.machine.nextNs
	if next == noInstant {
		return false
	}
	if next > w.now {
		w.now = next
	}
	return true
}

func (w *world) ends(waiter *waiter, outcome uint32) {
	w.Helper()
	if !waiter.ended || waiter.outcome != outcome {
		w.Errorf("at %d: waiter %d has ended: %v, by %d, expected by %d", w.now, waiter.id, waiter.ended, waiter.outcome, outcome)
	}
}

const ms = uint64(time.Millisecond)

// Newcomers with little time do not take what a larger cost waits for, and know at once that there is nothing for them.
func TestNobodyPassesTheLine(t *testing.T) {
	w := newWorld(t, "10/s burst=10")
	w.n.checkAt("k", 10, 0)
	large := w.arrive(10, noInstant)
	for i := 0; i < 9; i++ {
		w.now += 100 * ms
		w.happens(waitEvent{kind: waitTimer})
		small := w.arrive(1, w.now+100*ms)
		w.ends(small, waitLate)
		w.ends(w.arrive(1, w.now), waitLate)
		if want := time.Duration(1100*ms - w.now); small.after != want {
			t.Errorf("at %d: not before %v, expected %v", w.now, small.after, want)
		}
	}
	if w.n.line.asks != 1 {
		t.Errorf("%d asks, expected that of the first alone", w.n.line.asks)
	}
	if !w.due() || w.now != 1000*ms {
		t.Fatalf("due at %d", w.now)
	}
	w.happens(waitEvent{kind: waitTimer})
	w.ends(large, waitGo)
}

// Others take each unit at the instant at which the first may have it: it asks once in a pause, and not for each unit.
func TestABeatenFirstPauses(t *testing.T) {
	w := newWorld(t, "1000000/s burst=1")
	w.n.checkAt("k", 1, 0)
	first := w.arrive(1, 100*ms)
	for !first.ended && w.due() {
		w.n.checkAt("k", 1, w.now)
		w.happens(waitEvent{kind: waitTimer})
	}
	w.ends(first, waitLate)
	if asks := w.n.line.asks; asks < 90 || asks > 102 {
		t.Errorf("%d asks in 100 ms, in which 100,000 units came", asks)
	}
}

// Who waits without others is asked for at most twice.
func TestALineAsksFew(t *testing.T) {
	w := newWorld(t, "1000/s burst=3")
	w.n.checkAt("k", 3, 0)
	waiters := make([]*waiter, 100)
	for i := range waiters {
		waiters[i] = w.arrive(uint32(1+i%3), noInstant)
	}
	for w.due() {
		w.happens(waitEvent{kind: waitTimer})
	}
	for i, waiter := range waiters {
		w.ends(waiter, waitGo)
		if i > 0 && waiters[i-1].id >= waiter.id {
			t.Error("the order is lost")
		}
	}
	if asks := w.n.line.asks; asks > 200 {
		t.Errorf("%d asks for 100 waiters", asks)
	}
}

func TestForgottenUnitsAreAskedForAtOnce(t *testing.T) {
	w := newWorld(t, "1/h")
	w.n.checkAt("k", 1, 0)
	first, second := w.arrive(1, noInstant), w.arrive(1, noInstant)
	w.n.forget("k")
	w.happens(waitEvent{kind: waitChanged, key: "k"})
	w.ends(first, waitGo)
	if second.ended {
		t.Error("two have gone by one unit")
	}
	w.happens(waitEvent{kind: waitCancel, id: second.id})
	w.ends(second, waitCancelled)
	if w.due() {
		t.Errorf("the timer is due at %d for nobody", w.now)
	}
}

// A key has room for so many.
func TestALineIsFull(t *testing.T) {
	w := newWorld(t, "1/h")
	w.n.checkAt("k", 1, 0)
	for i := 0; i < 1000; i++ {
		if w.arrive(1, noInstant).ended {
			t.Fatal("it is full")
		}
	}
	w.ends(w.arrive(1, noInstant), waitBusy)
	w.happens(waitEvent{kind: waitClose})
	w.ends(w.arrive(1, noInstant), waitClosed)
	if len(w.n.line.waiters) != 0 {
		t.Errorf("%d are left", len(w.n.line.waiters))
	}
}

func TestAnEventThatIsNoneIsRefused(t *testing.T) {
	w := newWorld(t, "1/h")
	for _, event := range []waitEvent{{kind: 99}, {kind: waitAnswer, id: 1}} {
		var refused *Error
		if err := w.n.handIn(event); !errors.As(err, &refused) || refused.Status != StatusInvalid {
			t.Errorf("%+v: %v", event, err)
		}
	}
}

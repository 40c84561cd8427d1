package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"
)

// line is those who wait for a limiter, with the machine that says who is to ask when. Its driver performs what the
// machine says, under one lock: an ask takes no longer than a check, and no event comes between it and its answer.
type line struct {
	mutex    sync.Mutex
	machine  machine
	waiters  map[uint64]*waiter // those who stand, by their ids
	standing atomic.Int64       // how many: while it is 0, nobody needs the mutex to say that units came back
	last     uint64             // id
	asks     uint64             // how often the limiter was asked
	actions  []waitAction       // of the event that is taken in; used again by the next
	policy   []byte             // the text of the policy by which the machine waits; nil before the first event
	text     []byte             // of the policy in force, as long as it is compared
	stop     func() bool        // the timer's; nil if no event is due by time. It refers to the line's limiter
	timerNs  uint64             // when it is due
}

// waiter is one call of Wait. What it says of its end is written before done is closed.
type waiter struct {
	key      string
	cost     uint32
	id       uint64
	done     chan struct{}
	ended    bool
	outcome  uint32
	decision Decision      // the last answer
	after    time.Duration // of one who is late: it could not have gone before so long a time; 0: not known
}

// arrive has somebody wait, until byNs at the longest. The line's mutex is held, here and below.
func (n *native) arrive(nowNs uint64, key string, cost uint32, byNs uint64) *waiter {
	n.follow(nowNs)
	l := &n.line
	l.last++
	w := &waiter{key: key, cost: cost, id: l.last}
	if l.waiters == nil {
		l.waiters = make(map[uint64]*waiter)
	}
	l.waiters[w.id] = w
	l.standing.Add(1)
	event := waitEvent{kind: waitArrive, nowNs: nowNs, id: w.id, key: key, cost: cost, byNs: byNs}
	if n.handIn(event) != nil {
		l.end(w, waitAction{kind: waitFinish, outcome: waitClosed, atNs: noInstant}, nowNs)
	}
	if !w.ended {
		w.done = make(chan struct{})
	}
	return w
}

// follow has those who wait ask by the policy in force, if it was changed: by this limiter or by another one of the same
// keys, in any process. It comes before each event, so that nobody is refused by a capacity of before.
func (n *native) follow(nowNs uint64) {
	l := &n.line
	l.text = n.policyIn(l.text)
	if l.policy != nil && bytes.Equal(l.text, l.policy) {
		return
	}
	l.policy = append(l.policy[:0], l.text...)
	_ = n.handIn(waitEvent{kind: waitPolicy, nowNs: nowNs, policy: n.changedParameters()})
}

// handIn takes an event in and performs what follows from it, in its order.
func (n *native) handIn(event waitEvent) error {
	l := &n.line
	var err error
	l.actions, err = l.machine.event(event, l.actions[:0])
	for i := 0; i < len(l.actions); i++ {
		action := l.actions[i]
		w := l.waiters[action.id]
		switch action.kind {
		case waitAsk:
			var d C.ratecell_decision
			n.ask(w.key, w.cost, event.nowNs, action.byNs, &d)
			w.decision.set(C.int32_t(d.outcome), &d)
			l.asks++
			answer := waitEvent{kind: waitAnswer, nowNs: event.nowNs, id: w.id, byNs: action.byNs, decision: &d}
			l.actions, _ = l.machine.event(answer, l.actions)
		case waitFinish:
			l.end(w, action, event.nowNs)
		case waitGiveBack:
			// No policy gives units back yet that were charged at the place of a queue: they stay charged.
		}
	}
	return err
}

func (l *line) end(w *waiter, action waitAction, nowNs uint64) {
	delete(l.waiters, w.id)
	l.standing.Add(-1)
	w.ended, w.outcome = true, action.outcome
	if action.atNs != noInstant && action.atNs > nowNs {
		w.after = duration(C.uint64_t(action.atNs - nowNs))
	}
	if w.done != nil {
		close(w.done)
	}
}

// arm has the machine's next timer event come at its time.
func (n *native) arm(nowNs uint64) {
	l := &n.line
	next := l.machine.nextNs
	switch {
	case next == noInstant && l.stop != nil:
		// It goes, for it refers to n, whose finalizer no cycle may keep from running.
		l.stop()
		l.stop = nil
	case next == noInstant || l.stop != nil && next == l.timerNs:
	default:
		in := time.Duration(0)
		if next > nowNs {
			in = duration(C.uint64_t(next - nowNs))
		}
		if l.stop != nil {
			l.stop()
		}
		l.stop = n.watch.afterFunc(in, n.wake)
		l.timerNs = next
	}
}

// wake is the timer's.
func (n *native) wake() {
	n.line.mutex.Lock()
	defer n.line.mutex.Unlock()
	n.line.timerNs = noInstant // it is not armed
	n.happened(waitEvent{kind: waitTimer})
}

// happened takes in an event of now, and arms the timer.
func (n *native) happened(event waitEvent) {
	event.nowNs = n.now()
	n.follow(event.nowNs)
	_ = n.handIn(event) // nothing follows from what the machine refuses
	n.arm(event.nowNs)
}

// changed says that units of a key came back.
func (n *native) changed(key string) {
	if n.line.standing.Load() > 0 {
		n.line.mutex.Lock()
		defer n.line.mutex.Unlock()
		n.happened(waitEvent{kind: waitChanged, key: key})
	}
}

// policyChanged has those who wait ask by the policy in force, whose capacity and pace may be others.
func (n *native) policyChanged() {
	n.line.mutex.Lock()
	defer n.line.mutex.Unlock()
	nowNs := n.now()
	n.follow(nowNs)
	n.arm(nowNs)
}

// closeLine ends all who wait, and all who come later.
func (n *native) closeLine() {
	n.line.mutex.Lock()
	defer n.line.mutex.Unlock()
	n.happened(waitEvent{kind: waitClose})
}

package ratecell

/*
#include "library.h"

typedef uintptr_t go_limiter;
typedef uintptr_t go_waiting;

static ratecell_waiting_parameters go_waiting_defaults(void) {
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    return parameters;
}

// A machine; 0 if there is none to be had.
static go_waiting go_waiting_new(go_limiter limiter, ratecell_waiting_parameters parameters) {
    ratecell_waiting *waiting;
    parameters.limiter = (const ratecell_limiter *)limiter;
    return ratecell_waiting_new(&parameters, &waiting) < 0 ? 0 : (go_waiting)waiting;
}

static void go_waiting_free(go_waiting waiting) {
    ratecell_waiting_free((ratecell_waiting *)waiting);
}

// Go's memory that C is given may hold no pointers of Go, so the event, which has some, is made here. Of kind 0 there
// is none.
static int32_t go_waiting_event(go_waiting waiting, uint32_t kind, uint64_t now_ns, uint64_t id, const char *key,
                                size_t len, uint32_t cost, uint64_t by_ns, const ratecell_decision *decision,
                                const ratecell_waiting_parameters *policy, ratecell_wait_action *actions,
                                size_t max, uint64_t *next_ns) {
    ratecell_wait_event event;
    event.kind = kind;
    event.cost = cost;
    event.now_ns = now_ns;
    event.id = id;
    event.key = key;
    event.key_len = len;
    event.by_ns = by_ns;
    event.decision = decision;
    event.parameters = policy;
    return ratecell_waiting_event((ratecell_waiting *)waiting, kind == 0 ? NULL : &event, actions, max, next_ns);
}

static int32_t go_ask(go_limiter limiter, const char *key, size_t len, uint32_t cost, uint64_t by_ns,
                      uint64_t now_ns, ratecell_decision *decision) {
    ratecell_request request = { 0 };
    request.key = key;
    request.key_len = len;
    request.cost = cost;
    request.now_ns = now_ns;
    // The line's lock is held: who has to wait for a store sleeps outside of it.
    request.flags = RATECELL_AT | RATECELL_TRY;
    if (by_ns != UINT64_MAX) {
        request.max_delay_ns = by_ns - now_ns;
        request.flags |= RATECELL_WITHIN;
    }
    return ratecell_limiter_decide((const ratecell_limiter *)limiter, &request, decision);
}
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"
)

// noInstant is an instant of the machine that never comes.
const noInstant uint64 = math.MaxUint64

// The machine's events.
const (
	waitArrive  = C.RATECELL_WAIT_ARRIVE
	waitAnswer  = C.RATECELL_WAIT_ANSWER
	waitTimer   = C.RATECELL_WAIT_TIMER
	waitCancel  = C.RATECELL_WAIT_CANCEL
	waitChanged = C.RATECELL_WAIT_CHANGED
	waitPolicy  = C.RATECELL_WAIT_POLICY
	waitClose   = C.RATECELL_WAIT_CLOSE
)

// The machine's actions.
const (
	waitAsk      = C.RATECELL_WAIT_ASK
	waitFinish   = C.RATECELL_WAIT_FINISH
	waitGiveBack = C.RATECELL_WAIT_GIVE_BACK
)

// How a waiter ends.
const (
	waitGo         = C.RATECELL_WAIT_GO
	waitLate       = C.RATECELL_WAIT_LATE
	waitNever      = C.RATECELL_WAIT_NEVER
	waitClockRange = C.RATECELL_WAIT_CLOCK_RANGE
	waitBusy       = C.RATECELL_WAIT_BUSY
	waitCancelled  = C.RATECELL_WAIT_CANCELLED
	waitClosed     = C.RATECELL_WAIT_CLOSED
)

// machine is the C library's, which says when to ask a limiter again, and which waiter is first. Whoever has it calls
// it from one goroutine at a time, and frees it.
type machine struct {
	waiting C.go_waiting // 0: there is none, and no event is taken in
	nextNs  uint64       // when a waitTimer is due
}

// waitEvent is something that has happened. What its kind has no use for is not looked at.
type waitEvent struct {
	kind     uint32
	nowNs    uint64
	id       uint64
	key      string
	cost     uint32
	byNs     uint64
	decision *C.ratecell_decision
	policy   *C.ratecell_waiting_parameters
}

// waitAction is something that is to be done.
type waitAction struct {
	kind, outcome  uint32
	id, byNs, atNs uint64
}

// newMachine is the machine for a limiter, with the capacity and the pace of its policy.
func newMachine(limiter *C.ratecell_limiter) machine {
	return machine{C.go_waiting_new(C.go_limiter(uintptr(unsafe.Pointer(limiter))), C.go_waiting_defaults()), noInstant}
}

// changedParameters are those of the policy in force, for a waitPolicy.
func (n *native) changedParameters() *C.ratecell_waiting_parameters {
	parameters := C.go_waiting_defaults()
	parameters.limiter = n.limiter
	return &parameters
}

// waitParameters is how a machine for no limiter waits; a capacity of 0 is not known, nor is a pace without a
// denominator.
type waitParameters struct {
	maxWaiting, maxTotal, minPauseNs, maxPauseNs, fullPauseNs uint64

	capacity uint64
	pace     [2]uint64
}

func (p waitParameters) toC() C.ratecell_waiting_parameters {
	c := C.go_waiting_defaults()
	if p.minPauseNs > 0 {
		c.max_waiting, c.max_total = C.uint64_t(p.maxWaiting), C.uint64_t(p.maxTotal)
		c.min_pause_ns, c.max_pause_ns = C.uint64_t(p.minPauseNs), C.uint64_t(p.maxPauseNs)
		c.full_pause_ns = C.uint64_t(p.fullPauseNs)
	}
	c.capacity = C.uint64_t(p.capacity)
	c.pace_num, c.pace_den = C.uint64_t(p.pace[0]), C.uint64_t(p.pace[1])
	return c
}

func machineOf(p waitParameters) machine {
	return machine{C.go_waiting_new(0, p.toC()), noInstant}
}

// answerOf is the decision of a request within an ask's byNs, by the code, retry and delay that the traces have for it.
func answerOf(code, retryNs, delayNs, byNs, nowNs uint64) *C.ratecell_decision {
	outcomes := []C.int32_t{C.RATECELL_DENIED, C.RATECELL_ALLOWED, C.RATECELL_NEVER, C.RATECELL_CLOCK_RANGE, C.RATECELL_DENIED}
	d := &C.ratecell_decision{outcome: outcomes[code], retry_after_ns: C.uint64_t(retryNs), delay_ns: C.uint64_t(delayNs)}
	if within := byNs - nowNs; code == 0 && byNs != noInstant && byNs >= nowNs && delayNs > within {
		d.retry_after_ns += C.uint64_t(delayNs - within)
	}
	if code == 4 {
		d.notes = C.RATECELL_NO_PLACE
	}
	return d
}

func (m *machine) free() {
	C.go_waiting_free(m.waiting)
}

// event takes an event in, and appends the actions that follow. The error is of an event that is none.
func (m *machine) event(e waitEvent, actions []waitAction) ([]waitAction, error) {
	var room [4]C.ratecell_wait_action
	var next C.uint64_t
	for {
		left := C.go_waiting_event(m.waiting, C.uint32_t(e.kind), C.uint64_t(e.nowNs), C.uint64_t(e.id),
			bytesOf(e.key), C.size_t(len(e.key)), C.uint32_t(e.cost), C.uint64_t(e.byNs), e.decision, e.policy,
			&room[0], C.size_t(len(room)), &next)
		if left < 0 {
			return actions, statusError(left)
		}
		m.nextNs = uint64(next)
		for i := 0; i < len(room) && i < int(left); i++ {
			a := &room[i]
			actions = append(actions, waitAction{uint32(a.kind), uint32(a.outcome), uint64(a.id), uint64(a.by_ns), uint64(a.at_ns)})
		}
		if int(left) <= len(room) {
			return actions, nil
		}
		e = waitEvent{} // to take what is left
	}
}

// ask makes the request of one who waits: it is charged only if it can go by an instant. No other function asks for a
// waiter.
func (n *native) ask(key string, cost uint32, nowNs, byNs uint64, d *C.ratecell_decision) {
	C.go_ask(C.go_limiter(n.handle()), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost), C.uint64_t(byNs),
		C.uint64_t(nowNs), d)
	runtime.KeepAlive(n)
}

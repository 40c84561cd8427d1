package ratecell

/*
#include "calls.h"

static int32_t go_rules_settle(uintptr_t rules, const char *texts, go_attribute *places, size_t n, uint64_t now_ns,
                               uint32_t flags, ratecell_rules_held *held, size_t n_held) {
    const ratecell_rules_request request = go_rules_request(texts, places, n, now_ns, flags, held, n_held);
    return ratecell_rules_settle((const ratecell_rules *)rules, &request);
}

static int32_t go_rules_release(uintptr_t rules, uint64_t now_ns, uint32_t flags, ratecell_rules_held *held,
                                size_t n_held) {
    const ratecell_rules_request request = go_rules_request(NULL, NULL, 0, now_ns, flags, held, n_held);
    return ratecell_rules_release((const ratecell_rules *)rules, &request);
}
*/
import "C"

import (
	"runtime"
	"sync"
)

// RulesReservation is what an allowed request has charged of each rule that limits it, to be settled when costs are known that
// were not known before, and released when the request has ended, if rules have layers in_flight:
//
//	d, r := rules.Reserve(attributes)
//	if !d.Allowed { … }
//	defer r.Release()
//	used := work()
//	r.Settle(ratecell.Attributes{"tokens": strconv.Itoa(used)})
//
// Nothing is kept for it in the rules, and nothing has to be done with it. What is not given back drains as any charge does,
// and a permit comes back by itself.
//
// Any number of goroutines may call its methods at once. A refused request has a nil RulesReservation, whose methods do
// nothing.
type RulesReservation struct {
	mutex    sync.Mutex
	rules    *Rules
	held     []C.ratecell_rules_held
	settled  bool
	released bool
}

// heldRow has room for what a request holds: it has no more claims.
type heldRow [64]C.ratecell_rules_held

var heldRows = sync.Pool{New: func() any { return new(heldRow) }}

// Reserve decides a request now, as [Rules.Decide] does, and returns a RulesReservation of what was charged; nil where the
// decision is not Allowed. Nothing of shadow rules is held.
func (r *Rules) Reserve(attributes Attributes) (RulesDecision, *RulesReservation) {
	return r.reserve(attributes, 0, 0)
}

// ReserveAt is Reserve at nowNs, as [Rules.DecideAt].
func (r *Rules) ReserveAt(attributes Attributes, nowNs uint64) (RulesDecision, *RulesReservation) {
	return r.reserve(attributes, C.RATECELL_AT, nowNs)
}

func (r *Rules) reserve(attributes Attributes, flags C.uint32_t, nowNs uint64) (RulesDecision, *RulesReservation) {
	row := heldRows.Get().(*heldRow)
	defer heldRows.Put(row)
	d, n := r.ask(attributes, flags|C.RATECELL_RESERVE, nowNs, row)
	if !d.Allowed {
		return d, nil
	}
	return d, &RulesReservation{rules: r, held: append([]C.ratecell_rules_held(nil), row[:n]...)}
}

// Settle settles by attributes that are known afterwards: each rule whose cost the file takes from one of them, with from
// or by, at the cost that they make. Units that were reserved beyond it are given back, as by [Reservation.Settle], and what
// is above them is charged. All other rules stay as they are: those of a fixed cost, those whose attribute is not given,
// those whose cost is taken from the path, and layers in_flight.
//
// A rule stays as it is, too, that is not in the file in force any more, makes its cost in another way than when it was
// charged, or has begun anew. After a [Rules.Change] of the numbers of its limit, units of windows come back, and those of a
// rate or a bucket stay charged.
//
// Only the first call of Settle or Cancel does something.
func (r *RulesReservation) Settle(actual Attributes) {
	r.settle(actual, 0, 0)
}

// SettleAt is Settle at nowNs, as [Rules.DecideAt].
func (r *RulesReservation) SettleAt(actual Attributes, nowNs uint64) {
	r.settle(actual, C.RATECELL_AT, nowNs)
}

// Cancel settles each rule at 0: the request has used nothing. Layers in_flight stay as they are.
func (r *RulesReservation) Cancel() {
	r.settle(nil, C.RATECELL_CANCEL, 0)
}

// CancelAt is Cancel at nowNs, as [Rules.DecideAt].
func (r *RulesReservation) CancelAt(nowNs uint64) {
	r.settle(nil, C.RATECELL_CANCEL|C.RATECELL_AT, nowNs)
}

// Release gives back the permits of all layers in_flight; all others stay as they are. It returns how many units came back: of
// several rules with such layers the least. Nothing comes back of a permit that has passed by itself, or whose rule is not
// in the file in force any more or has begun anew.
//
// Only the first call releases; later ones return 0.
func (r *RulesReservation) Release() int {
	return r.release(0, 0)
}

// ReleaseAt is Release at nowNs, as [Rules.DecideAt].
func (r *RulesReservation) ReleaseAt(nowNs uint64) int {
	return r.release(C.RATECELL_AT, nowNs)
}

func (r *RulesReservation) settle(actual Attributes, flags C.uint32_t, nowNs uint64) {
	n := r.begin(false)
	if n == nil {
		return
	}
	flags, nowNs = instantOf(r.rules.watch, flags, nowNs)
	call := beginRules(actual)
	defer rulesCalls.Put(call)
	C.go_rules_settle(n.handle(), bytesOf(stringOf(call.texts)), &call.places[0], C.size_t(len(actual)), C.uint64_t(nowNs),
		flags, &r.held[0], C.size_t(len(r.held)))
	runtime.KeepAlive(n)
}

func (r *RulesReservation) release(flags C.uint32_t, nowNs uint64) int {
	n := r.begin(true)
	if n == nil {
		return 0
	}
	flags, nowNs = instantOf(r.rules.watch, flags, nowNs)
	units := C.go_rules_release(n.handle(), C.uint64_t(nowNs), flags, &r.held[0], C.size_t(len(r.held)))
	runtime.KeepAlive(n)
	if units < 0 {
		return 0
	}
	return int(units)
}

// begin is the rules in C, if there is something held that was not settled, or released, before: from here on it was.
func (r *RulesReservation) begin(releases bool) *nativeRules {
	if r == nil || len(r.held) == 0 {
		return nil
	}
	done := &r.settled
	if releases {
		done = &r.released
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if *done {
		return nil
	}
	*done = true
	return r.rules.native.Load()
}

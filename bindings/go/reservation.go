package ratecell

/*
#include "calls.h"

static int32_t go_reserve(go_limiter limiter, const char *key, const go_asked *asked,
                          ratecell_reservation *reservation, ratecell_decision *decision) {
    ratecell_request request = request_of(key, asked);
    request.flags |= RATECELL_RESERVE;
    request.reservation = reservation;
    return ratecell_limiter_decide(limiter_of(limiter), &request, decision);
}

typedef enum go_act { GO_SETTLE, GO_RELEASE, GO_RENEW } go_act;

static int32_t go_held(go_limiter limiter, go_act act, uint32_t cost, uint32_t flags, uint64_t now_ns,
                       ratecell_reservation *reservation, ratecell_decision *decision) {
    ratecell_request request = {
        .cost = cost, .flags = flags, .now_ns = now_ns, .reservation = reservation,
    };
    switch (act) {
    case GO_SETTLE:
        return ratecell_limiter_settle(limiter_of(limiter), &request, decision);
    case GO_RELEASE:
        return ratecell_limiter_release(limiter_of(limiter), &request, decision);
    default:
        return ratecell_limiter_renew(limiter_of(limiter), &request, decision);
    }
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Reservation is what an allowed request has charged, to be settled when the actual cost is known. If the policy has layers
// in_flight, it is their permit, too, to be released when the request has ended:
//
//	d, r, err := limiter.Reserve("org:7", 4000)
//	if err != nil { … }
//	if !d.Allowed { … }
//	defer r.Release()
//	used := work()
//	r.Settle(used)
//
// It is plain data: nothing is kept for it in the limiter, and nothing has to be done with it. What is not given back
// drains as any charge does, and a permit comes back by itself. [Reservation.MarshalBinary] gives its bytes, which another
// process that uses the same file resumes with [Reservation.UnmarshalBinary] and [Limiter.Resume].
//
// Any number of goroutines may call its methods at once. A refused request has a nil Reservation: its methods do nothing,
// as do those of a Reservation without a limiter, and return a decision whose Outcome is Closed.
type Reservation struct {
	mutex    sync.Mutex
	limiter  *Limiter // nil before Resume
	key      string   // of who may wait for what comes back; empty: not known
	raw      C.ratecell_reservation
	settled  bool
	released bool
}

// The form of a reservation's bytes.
const (
	reservationHead   = 24
	reservationLayer  = 40
	reservationCost   = 8  // where the units stand
	reservationLayers = 12 // where the number of layers stands
	reservationForm   = 13 // where the form is named
	formOfReservation = 1
)

type reservationBytes [unsafe.Sizeof(C.ratecell_reservation{})]byte

const mostReserved = (len(reservationBytes{}) - reservationHead) / reservationLayer

// Reserve decides cost units of a key now, as CheckN does, and returns a Reservation of what was charged; nil where the
// decision is not Allowed. A cost of 0 is a peek that can be settled.
//
// The error is [ErrClosed], or of Status [StatusReserve]: the limiter is one of many machines. Then nothing was charged.
func (l *Limiter) Reserve(key string, cost uint32) (Decision, *Reservation, error) {
	return l.ReserveRequest(NewRequest(key).Cost(cost))
}

// ReserveRequest is Reserve of any request but one with Charge, which has nothing to reserve: that is an error of Status
// [StatusInvalid].
func (l *Limiter) ReserveRequest(request Request) (Decision, *Reservation, error) {
	n := l.native.Load()
	if n == nil {
		return undecided(), nil, ErrClosed
	}
	if request.flags&C.RATECELL_CHARGE != 0 {
		err := statusError(C.RATECELL_EINVAL)
		err.Text = "a request with Charge reserves nothing: expected one that may be refused"
		return undecided(), nil, err
	}
	var d C.ratecell_decision
	var asked C.go_asked
	request.write(&asked)
	n.watch.set(&asked)
	r := &Reservation{limiter: l}
	status := C.go_reserve(n.handle(), bytesOf(request.key), (*C.go_asked)(hidden(unsafe.Pointer(&asked))), &r.raw,
		hiddenDecision(&d))
	runtime.KeepAlive(n)
	runtime.KeepAlive(request.zone)
	if status == C.RATECELL_EINVAL {
		return withoutZone(), nil, errZone
	}
	var decision Decision
	decision.set(status, &d)
	if status < 0 {
		return decision, nil, statusError(status)
	}
	if !decision.Allowed {
		return decision, nil, nil
	}
	if request.flags&C.RATECELL_HASHED == 0 {
		r.key = strings.Clone(request.key)
	}
	return decision, r, nil
}

// Resume gives this limiter to a Reservation that UnmarshalBinary has read. The limiter must use the file in which the units
// were reserved; with any other nothing is given back.
func (l *Limiter) Resume(r *Reservation) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.limiter = l
}

// Cost is the units that are reserved.
func (r *Reservation) Cost() uint32 {
	if r == nil {
		return 0
	}
	return *(*uint32)(unsafe.Pointer(&r.bytes()[reservationCost]))
}

// Settle says that of what was reserved so many units were used: the others are given back, and 0 is a cancellation. If
// more were used than were reserved, the difference is charged as by [Request.Charge]. Layers in_flight stay as they are.
// The decision is what a peek sees afterwards.
//
// Under a policy with tz=caller a reservation names no zone: units come back as ever, but the Outcome is [Never], with NoZone,
// and units beyond those that were reserved are not charged. Charge them by a request with Charge and a Zone.
//
// Each layer gives back as much as it can without forgiving what others were charged: windows and logs all, as long as
// their units still count; a rate or a bucket what has not drained yet; a leaky_queue the last place alone. Nothing comes back
// if the key was forgotten or evicted meanwhile.
//
// Only the first call settles; later ones return what a peek sees. Copies, such as those made of its bytes, do not know of
// each other: settle one of them.
func (r *Reservation) Settle(actual uint32) Decision {
	return r.settle(actual, 0, 0)
}

// SettleAt is Settle at nowNs, as [Limiter.CheckAt].
func (r *Reservation) SettleAt(actual uint32, nowNs uint64) Decision {
	return r.settle(actual, C.RATECELL_AT, nowNs)
}

// Release gives back the permit of the layers in_flight; all others stay as they are. The decision is what a peek sees
// afterwards, and its GivenBack is how many units came back: of several such layers the least. Nothing comes back of a
// permit that has passed by itself, or whose key was forgotten or evicted meanwhile. Without such layers it does nothing.
//
// Only the first call releases; later ones return what a peek sees. Release one of several copies.
func (r *Reservation) Release() Decision {
	return r.permit(C.GO_RELEASE, 0, 0)
}

// ReleaseAt is Release at nowNs, as [Limiter.CheckAt].
func (r *Reservation) ReleaseAt(nowNs uint64) Decision {
	return r.permit(C.GO_RELEASE, C.RATECELL_AT, nowNs)
}

// Renew renews the permit of the layers in_flight, so that it lives on for at least another hold. What was forgotten or has
// passed is acquired again. All such layers are renewed, or none; a permit that is renewed at least once each hold is never
// refused. The decision is what a peek sees afterwards, or a refusal: then the permit is what it was. One that was released
// is not renewed.
func (r *Reservation) Renew() Decision {
	return r.permit(C.GO_RENEW, 0, 0)
}

// RenewAt is Renew at nowNs, as [Limiter.CheckAt].
func (r *Reservation) RenewAt(nowNs uint64) Decision {
	return r.permit(C.GO_RENEW, C.RATECELL_AT, nowNs)
}

func (r *Reservation) settle(actual, flags uint32, nowNs uint64) Decision {
	if r == nil {
		return undecided()
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.settled {
		return r.peek(flags, nowNs)
	}
	d, ok := r.call(C.GO_SETTLE, actual, flags, nowNs)
	r.settled = ok
	if ok && actual < r.Cost() {
		r.changed()
	}
	return d
}

// permit releases or renews the permit, unless it was released.
func (r *Reservation) permit(act C.go_act, flags uint32, nowNs uint64) Decision {
	if r == nil {
		return undecided()
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.released {
		return r.peek(flags, nowNs)
	}
	d, ok := r.call(act, 0, flags, nowNs)
	r.released = ok && act == C.GO_RELEASE
	if d.GivenBack > 0 {
		r.changed()
	}
	return d
}

// peek is what a settlement answers that has nothing to give back.
func (r *Reservation) peek(flags uint32, nowNs uint64) Decision {
	d, _ := r.call(C.GO_SETTLE, r.Cost(), flags, nowNs)
	return d
}

// call does something with it, and reports whether that was done. The mutex is held.
func (r *Reservation) call(act C.go_act, cost, flags uint32, nowNs uint64) (Decision, bool) {
	if r.limiter == nil {
		return undecided(), false
	}
	n := r.limiter.native.Load()
	if n == nil {
		return undecided(), false
	}
	var d C.ratecell_decision
	flags, nowNs = instantOf(n.watch, flags, nowNs)
	status := C.go_held(n.handle(), act, C.uint32_t(cost), C.uint32_t(flags), C.uint64_t(nowNs), &r.raw, hiddenDecision(&d))
	runtime.KeepAlive(n)
	var decision Decision
	decision.set(status, &d)
	decision.GivenBack = uint32(d.given_back)
	return decision, status >= 0 && status != C.RATECELL_CLOCK_RANGE
}

// changed says to those who wait for the key that units came back.
func (r *Reservation) changed() {
	if n := r.limiter.native.Load(); n != nil && r.key != "" {
		n.changed(r.key)
	}
}

func (r *Reservation) bytes() *reservationBytes {
	return (*reservationBytes)(unsafe.Pointer(&r.raw))
}

// MarshalBinary returns the reservation as bytes: 24, and 40 for each layer of the policy, in the byte order of the machine.
// They are of use to processes that share the file. Whether it was settled or released is not in them.
func (r *Reservation) MarshalBinary() ([]byte, error) {
	if r == nil {
		return nil, errors.New("ratecell: a nil Reservation: expected that of an allowed request")
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	bytes := r.bytes()
	length := reservationHead + reservationLayer*int(bytes[reservationLayers])
	if length == reservationHead {
		return nil, errors.New("ratecell: an empty Reservation: expected that of an allowed request")
	}
	return append([]byte(nil), bytes[:length]...), nil
}

// UnmarshalBinary reads the bytes of a reservation, which [Limiter.Resume] then gives a limiter. Whether they are of that
// limiter's file is found out when it is settled: those of another give nothing back.
func (r *Reservation) UnmarshalBinary(data []byte) error {
	layers := 0
	if len(data) >= reservationHead {
		layers = int(data[reservationLayers])
	}
	if layers < 1 || layers > mostReserved || len(data) != reservationHead+reservationLayer*layers {
		return fmt.Errorf("ratecell: %d bytes are no reservation: expected %d and %d more for each of 1 to %d layers, as many as they name",
			len(data), reservationHead, reservationLayer, mostReserved)
	}
	if form := data[reservationForm]; form != formOfReservation {
		return fmt.Errorf("ratecell: a reservation of form %d: expected form %d", form, formOfReservation)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.limiter, r.key, r.settled, r.released = nil, "", false, false
	r.raw = C.ratecell_reservation{}
	copy(r.bytes()[:], data)
	return nil
}

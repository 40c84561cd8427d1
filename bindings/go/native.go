package ratecell

/*
#cgo CFLAGS: -I${SRCDIR}/lib
#cgo linux LDFLAGS: -L${SRCDIR}/lib -l:libratecell.a -lpthread -ldl
#cgo !linux LDFLAGS: -L${SRCDIR}/lib -lratecell

#include "library.h"
#include <stdlib.h>

// Of a pointer to void, or to a struct that the header does not show, cgo checks at each call what else is in the
// memory that it points to. So keys are of char here, and a limiter, which is C's own memory, is a number.
typedef uintptr_t go_limiter;

static inline const ratecell_limiter *limiter_of(go_limiter limiter) {
    return (const ratecell_limiter *)limiter;
}

static int32_t go_check(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                        ratecell_decision *decision) {
    return ratecell_limiter_check(limiter_of(limiter), key, len, cost, decision);
}

static int32_t go_check_at(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                           uint64_t now_ns, ratecell_decision *decision) {
    return ratecell_limiter_check_at(limiter_of(limiter), key, len, cost, now_ns, decision);
}

static int32_t go_check_within(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                               uint64_t max_delay_ns, ratecell_decision *decision) {
    return ratecell_limiter_check_within(limiter_of(limiter), key, len, cost, max_delay_ns, decision);
}

static int32_t go_check_within_at(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                                  uint64_t max_delay_ns, uint64_t now_ns, ratecell_decision *decision) {
    return ratecell_limiter_check_within_at(limiter_of(limiter), key, len, cost, max_delay_ns, now_ns, decision);
}

static int32_t go_charge(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                         ratecell_decision *decision) {
    return ratecell_limiter_charge(limiter_of(limiter), key, len, cost, decision);
}

static int32_t go_charge_at(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                            uint64_t now_ns, ratecell_decision *decision) {
    return ratecell_limiter_charge_at(limiter_of(limiter), key, len, cost, now_ns, decision);
}

static int32_t go_forget(go_limiter limiter, const char *key, size_t len) {
    return ratecell_limiter_forget(limiter_of(limiter), key, len);
}

static int32_t go_now(go_limiter limiter, uint64_t *now_ns) {
    return ratecell_limiter_now(limiter_of(limiter), now_ns);
}

enum { GO_CHUNK = 64 };

// Decides n requests whose keys follow each other in `keys`. Go's memory that C is given may hold no pointers
// of Go, so the requests, which are pointers, are made here.
static int32_t go_batch(go_limiter limiter, const char *keys, const size_t *lens,
                        const uint32_t *costs, size_t n, const uint64_t *now_ns, ratecell_decision *decisions) {
    ratecell_request requests[GO_CHUNK];
    uint64_t now = 0;
    int32_t status = 0;
    if (now_ns != NULL) {
        now = *now_ns;
    } else {
        status = ratecell_limiter_now(limiter_of(limiter), &now);
    }
    for (size_t done = 0; done < n && status >= 0; done += GO_CHUNK) {
        size_t count = n - done < GO_CHUNK ? n - done : GO_CHUNK;
        for (size_t i = 0; i < count; i++) {
            requests[i].key = keys;
            requests[i].key_len = lens[done + i];
            requests[i].cost = costs != NULL ? costs[done + i] : 1;
            requests[i].reserved = 0;
            keys += lens[done + i];
        }
        status = ratecell_limiter_check_batch(limiter_of(limiter), requests, count, now, decisions + done);
    }
    return status;
}
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// native is a limiter of the C library. It is freed when nothing refers to it any more, so that a call under
// way holds it by holding a pointer to it, and counts nothing.
type native struct {
	limiter *C.ratecell_limiter
	line    line
}

func newNative(limiter *C.ratecell_limiter) *native {
	n := &native{limiter: limiter}
	n.line.machine = newMachine(limiter)
	runtime.SetFinalizer(n, func(n *native) {
		n.line.machine.free()
		C.ratecell_limiter_free(n.limiter)
	})
	return n
}

func (n *native) handle() C.go_limiter {
	return C.go_limiter(uintptr(unsafe.Pointer(n.limiter)))
}

// hidden returns p, and hides from the compiler that it is p, which would otherwise move what it points to to
// the heap: the C library keeps no pointer after a call, and calls nothing of Go's.
//
//go:nosplit
func hidden(p unsafe.Pointer) unsafe.Pointer {
	address := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// bytesOf returns where the bytes of a string are: the first word of its header.
func bytesOf(s string) *C.char {
	return (*C.char)(hidden(*(*unsafe.Pointer)(unsafe.Pointer(&s))))
}

// stringOf returns the string that has these bytes, which must not change while it is used.
func stringOf(b []byte) string {
	return *(*string)(unsafe.Pointer(&b))
}

func hiddenDecision(d *C.ratecell_decision) *C.ratecell_decision {
	return (*C.ratecell_decision)(hidden(unsafe.Pointer(d)))
}

func (n *native) allow(key string, cost uint32) bool {
	status := C.go_check(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost), nil)
	runtime.KeepAlive(n)
	return status == C.RATECELL_ALLOWED
}

func (n *native) check(key string, cost uint32) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_check(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) checkAt(key string, cost uint32, nowNs uint64) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_check_at(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost),
		C.uint64_t(nowNs), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) checkWithin(key string, cost uint32, maxDelay time.Duration) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_check_within(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost),
		nanoseconds(maxDelay), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) checkWithinAt(key string, cost uint32, maxDelay time.Duration, nowNs uint64) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_check_within_at(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost),
		nanoseconds(maxDelay), C.uint64_t(nowNs), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) charge(key string, cost uint32) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_charge(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) chargeAt(key string, cost uint32, nowNs uint64) (decision Decision) {
	var d C.ratecell_decision
	status := C.go_charge_at(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost),
		C.uint64_t(nowNs), hiddenDecision(&d))
	runtime.KeepAlive(n)
	decision.set(status, &d)
	return decision
}

func (n *native) forget(key string) bool {
	status := C.go_forget(n.handle(), bytesOf(key), C.size_t(len(key)))
	runtime.KeepAlive(n)
	return status == 0
}

func (n *native) now() uint64 {
	var now C.uint64_t
	C.go_now(n.handle(), (*C.uint64_t)(hidden(unsafe.Pointer(&now))))
	runtime.KeepAlive(n)
	return uint64(now)
}

func (n *native) epoch() uint64 {
	var epoch C.uint64_t
	C.ratecell_limiter_epoch(n.limiter, &epoch)
	runtime.KeepAlive(n)
	return uint64(epoch)
}

// batch is what a batch needs beside the caller's slices, used again by later ones.
type batch struct {
	keys      []byte
	lens      []C.size_t
	decisions []C.ratecell_decision
}

// decide decides len(b.lens) requests; costs nil is 1 each, nowNs nil the limiter's own clock.
func (b *batch) decide(n *native, costs []uint32, nowNs *uint64) error {
	if len(b.lens) == 0 {
		return nil
	}
	for len(b.decisions) < len(b.lens) {
		b.decisions = append(b.decisions[:cap(b.decisions)], C.ratecell_decision{})
	}
	var cost *C.uint32_t
	if len(costs) > 0 {
		cost = (*C.uint32_t)(hidden(unsafe.Pointer(&costs[0])))
	}
	status := C.go_batch(n.handle(), bytesOf(stringOf(b.keys)), &b.lens[0], cost, C.size_t(len(b.lens)),
		(*C.uint64_t)(hidden(unsafe.Pointer(nowNs))), &b.decisions[0])
	runtime.KeepAlive(n)
	if status < 0 {
		return statusError(status)
	}
	return nil
}

func (b *batch) add(key string) {
	b.keys = append(b.keys, key...)
	b.lens = append(b.lens, C.size_t(len(key)))
}

func (b *batch) tell(decisions []Decision) {
	for i := range decisions {
		d := &b.decisions[i]
		decisions[i].set(C.int32_t(d.outcome), d)
	}
}

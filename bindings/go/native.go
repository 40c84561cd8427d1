package ratecell

/*
#cgo CFLAGS: -I${SRCDIR}/lib
#cgo linux LDFLAGS: -L${SRCDIR}/lib -l:libratecell.a -lpthread -ldl
#cgo !linux LDFLAGS: -L${SRCDIR}/lib -lratecell

#include "calls.h"

static int32_t go_check(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                        ratecell_decision *decision) {
    return ratecell_limiter_check(limiter_of(limiter), key, len, cost, decision);
}

static int32_t go_check_at(go_limiter limiter, const char *key, size_t len, uint32_t cost,
                           uint64_t now_ns, ratecell_decision *decision) {
    return ratecell_limiter_check_at(limiter_of(limiter), key, len, cost, now_ns, decision);
}

static int32_t go_decide(go_limiter limiter, const char *key, const go_asked *asked,
                         ratecell_decision *decision) {
    ratecell_request request = request_of(key, asked);
    return ratecell_limiter_decide(limiter_of(limiter), &request, decision);
}

static int32_t go_forget(go_limiter limiter, const char *key, size_t len) {
    return ratecell_limiter_forget(limiter_of(limiter), key, len);
}

static int32_t go_now(go_limiter limiter, uint64_t *now_ns) {
    return ratecell_limiter_now(limiter_of(limiter), now_ns);
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// native is a limiter of the C library. It is freed when nothing refers to it any more, so that a call under
// way holds it by holding a pointer to it, and counts nothing.
type native struct {
	limiter *C.ratecell_limiter
	line    line
	watch   *watch // nil: the system's clock
}

func newNative(limiter *C.ratecell_limiter, watch *watch) *native {
	n := &native{limiter: limiter, watch: watch}
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
	if n.watch != nil {
		return n.checkAt(key, cost, n.watch.now()).Allowed
	}
	status := C.go_check(n.handle(), bytesOf(key), C.size_t(len(key)), C.uint32_t(cost), nil)
	runtime.KeepAlive(n)
	return status == C.RATECELL_ALLOWED
}

func (n *native) check(key string, cost uint32) (decision Decision) {
	if n.watch != nil {
		return n.checkAt(key, cost, n.watch.now())
	}
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

func (n *native) decide(request *Request) (decision Decision) {
	var d C.ratecell_decision
	var asked C.go_asked
	request.write(&asked)
	n.watch.set(&asked)
	status := C.go_decide(n.handle(), bytesOf(request.key), (*C.go_asked)(hidden(unsafe.Pointer(&asked))),
		hiddenDecision(&d))
	runtime.KeepAlive(n)
	runtime.KeepAlive(request.zone)
	if status == C.RATECELL_EINVAL {
		return withoutZone() // nothing of a request but its zone can be wrong
	}
	decision.set(status, &d)
	return decision
}

func (n *native) forget(key string) bool {
	status := C.go_forget(n.handle(), bytesOf(key), C.size_t(len(key)))
	runtime.KeepAlive(n)
	return status == 0
}

func (n *native) now() uint64 {
	if n.watch != nil {
		return n.watch.now()
	}
	var now C.uint64_t
	C.go_now(n.handle(), (*C.uint64_t)(hidden(unsafe.Pointer(&now))))
	runtime.KeepAlive(n)
	return uint64(now)
}

// policy is the text of the policy in force.
func (n *native) policy() string {
	return string(n.policyIn(nil))
}

// policyIn writes the text of the policy in force over a buffer, or over a longer one if it has no room. A text that has
// become longer meanwhile is asked for again.
func (n *native) policyIn(buffer []byte) []byte {
	defer runtime.KeepAlive(n)
	buffer = buffer[:cap(buffer)]
	if len(buffer) == 0 {
		buffer = make([]byte, 128)
	}
	for {
		length := C.ratecell_limiter_policy(n.limiter, (*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer)))
		if length >= 0 {
			return buffer[:length]
		}
		buffer = make([]byte, C.ratecell_limiter_policy(n.limiter, nil, 0)+1)
	}
}

func (n *native) epoch() uint64 {
	var epoch C.uint64_t
	C.ratecell_limiter_epoch(n.limiter, &epoch)
	runtime.KeepAlive(n)
	return uint64(epoch)
}

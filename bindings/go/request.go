package ratecell

/*
#include "calls.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// Request is what a limiter is asked: units of a key, how many, when and how. [NewRequest] and [NewHashRequest] make
// one, and each method returns it with one thing changed, so that a cost, an instant or a delay of 0 is as good as any
// other:
//
//	limiter.Decide(ratecell.NewRequest("user:42").Cost(5).Within(0))
//	limiter.Decide(ratecell.NewRequest("user:42").Cost(bytes).Charge())
//
// It is plain data, refers to no limiter, and may be given to several. The zero Request asks for one unit of the empty
// key, which is a key like any other.
type Request struct {
	key        string
	hash       uint64
	nowNs      uint64
	maxDelayNs uint64
	costLess1  uint32 // wraps around: the zero Request costs 1
	flags      uint32 // of C's RATECELL_HASHED and so on
	zone       *Zone  // nil: none
}

// NewRequest asks for one unit of a key, now. A key of bytes is not copied: they must not change until the request is
// decided. The same bytes are the same key as in a string.
func NewRequest[K ~string | ~[]byte](key K) Request {
	// A string's header is the beginning of a slice's.
	return Request{key: *(*string)(unsafe.Pointer(&key))}
}

// NewHashRequest asks for one unit of the key that has this hash, which the caller computed, now. Distinct hashes can be
// one key: among as many keys as a limiter has room for, n, two are one with a probability of about 2.5n / 2^40. Where
// others choose the keys, the hash must be one that they cannot predict, such as that of hash/maphash; and of one
// file, all processes must use the same. A key by its hash is not the key by its bytes.
func NewHashRequest(hash uint64) Request {
	return Request{hash: hash, flags: C.RATECELL_HASHED}
}

// Cost is the request for so many units, all of them or none. 0 is a peek: it charges nothing, and the decision's
// Remaining is the answer.
func (r Request) Cost(units uint32) Request {
	r.costLess1 = units - 1
	return r
}

// At is the request at this instant instead of now: nanoseconds since any instant, as long as all who share the limiter
// mean the same.
func (r Request) At(nowNs uint64) Request {
	r.nowNs = nowNs
	r.flags |= C.RATECELL_AT
	return r
}

// Within is the request for callers who can hold it only so long: what would be allowed with a Delay of more than
// maxDelay is denied and charges nothing, and its RetryAfter is when this same request is allowed. Only a leaky_queue
// has delays. A maxDelay below 0 is 0; of a request with Charge it changes nothing.
func (r Request) Within(maxDelay time.Duration) Request {
	r.maxDelayNs = uint64(nanoseconds(maxDelay))
	r.flags |= C.RATECELL_WITHIN
	return r
}

// Charge is the request of units that have been spent already, whether or not they would be allowed: as many are charged
// as there is room for, so that the key is at most full; of several layers, in each by itself. It is for what is known
// only when it is over, such as a response's size, and for refusals that are to count. The decision is what a peek would
// see afterwards.
func (r Request) Charge() Request {
	r.flags |= C.RATECELL_CHARGE
	return r
}

// WithNext is the request for a decision that has its Next, too. It costs a second look at the key.
func (r Request) WithNext() Request {
	r.flags |= C.RATECELL_NEXT
	return r
}

// WithoutWaiting is the request that does not wait for the store which many machines share: where only that can answer, it
// is asked, and the decision's Outcome is [Asked]. With Charge, only what this machine holds is charged. Of any other
// limiter it changes nothing.
func (r Request) WithoutWaiting() Request {
	r.flags |= C.RATECELL_TRY
	return r
}

// Zone is the request that names the zone whose windows decide, for a limiter whose policy has tz=caller: one that the
// limiter's method of the same name made. Such a limiter refuses a request without a zone, or with one of another calendar,
// and every other limiter refuses one with a zone: the Outcome is [Never], and nothing is charged. nil is no zone.
func (r Request) Zone(zone *Zone) Request {
	r.zone = zone
	return r
}

// write writes the request for C, whose key goes beside it, and whose zone the caller keeps alive. What no flag selects is left as it is, and C does not read
// it.
func (r *Request) write(asked *C.go_asked) {
	asked.key_len = C.size_t(len(r.key))
	asked.cost = C.uint32_t(r.costLess1 + 1)
	asked.flags = C.uint32_t(r.flags)
	asked.zone = r.zone.handle()
	if r.flags == 0 {
		return
	}
	asked.hash = C.uint64_t(r.hash)
	asked.now_ns = C.uint64_t(r.nowNs)
	asked.max_delay_ns = C.uint64_t(r.maxDelayNs)
	if r.flags&C.RATECELL_CHARGE != 0 {
		asked.flags &^= C.RATECELL_WITHIN // nothing is refused, and C refuses both at once
	}
}

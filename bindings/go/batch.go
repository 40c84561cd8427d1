package ratecell

/*
#include "calls.h"

enum { GO_CHUNK = 64 };

// Decides n requests whose keys follow each other in `keys`.
static int32_t go_decide_batch(go_limiter limiter, const char *keys, const go_asked *asked, size_t n,
                               ratecell_decision *decisions) {
    ratecell_request requests[GO_CHUNK];
    uint64_t now = 0;
    int32_t status = 0;
    // One reading of the clock for all chunks.
    if (n > GO_CHUNK) {
        status = ratecell_limiter_now(limiter_of(limiter), &now);
    }
    for (size_t done = 0; done < n && status >= 0; done += GO_CHUNK) {
        size_t count = n - done < GO_CHUNK ? n - done : GO_CHUNK;
        for (size_t i = 0; i < count; i++) {
            requests[i] = request_of(keys, &asked[done + i]);
            keys += requests[i].key_len;
            if (n > GO_CHUNK && !(requests[i].flags & RATECELL_AT)) {
                requests[i].now_ns = now;
                requests[i].flags |= RATECELL_AT;
            }
        }
        status = ratecell_limiter_decide_batch(limiter_of(limiter), requests, count, decisions + done);
    }
    return status;
}

// What ratecell_decide_all takes.
enum { GO_CLAIMS = 64 };

// Decides n claims, GO_CLAIMS or fewer, whose keys follow each other in `keys`.
static int32_t go_decide_all(const go_limiter *limiters, const char *keys, const go_asked *asked, size_t n,
                             ratecell_decision *decisions) {
    ratecell_claim claims[GO_CLAIMS];
    for (size_t i = 0; i < n; i++) {
        claims[i].limiter = limiter_of(limiters[i]);
        claims[i].request = request_of(keys, &asked[i]);
        keys += asked[i].key_len;
    }
    return ratecell_decide_all(claims, n, decisions);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

// batch is what several requests need beside the caller's slices, used again by later ones.
type batch struct {
	keys      []byte
	asked     []C.go_asked
	limiters  []C.go_limiter
	decisions []C.ratecell_decision
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// What a batch of a few thousand keys needs; more is not kept for the next.
const (
	keptKeys     = 1 << 17
	keptRequests = 1 << 12
)

// newBatch is one with room for n requests and their decisions, n above 0.
func newBatch(n int) *batch {
	b := batches.Get().(*batch)
	if cap(b.asked) < n {
		b.asked, b.decisions = make([]C.go_asked, n), make([]C.ratecell_decision, n)
	}
	b.asked, b.decisions = b.asked[:n], b.decisions[:n]
	b.keys, b.limiters = b.keys[:0], b.limiters[:0]
	return b
}

func (b *batch) keep() {
	if cap(b.keys) <= keptKeys && cap(b.asked) <= keptRequests {
		batches.Put(b)
	}
}

func (b *batch) set(i int, request *Request, watch *watch) {
	b.keys = append(b.keys, request.key...)
	request.write(&b.asked[i])
	watch.set(&b.asked[i])
}

func (b *batch) write(decisions []Decision) {
	for i := range decisions {
		d := &b.decisions[i]
		decisions[i].set(C.int32_t(d.outcome), d)
	}
}

// DecideBatch decides requests in their order, and writes each decision to the same place of decisions, which is as
// long as requests. The C library is called once, the clock is read once for all requests without an instant of their
// own, and while one request is decided memory is fetched for those to come. A key may occur more than once.
//
// It allocates nothing a request. The error is of lengths that differ, of a zone that the limiter does not take, or
// [ErrClosed]; then nothing was charged, and no decision allows.
func (l *Limiter) DecideBatch(requests []Request, decisions []Decision) error {
	if len(decisions) != len(requests) {
		return refuse(decisions, fmt.Errorf("ratecell: a batch of %d requests has room for %d decisions: expected as many", len(requests), len(decisions)))
	}
	n := l.native.Load()
	if n == nil {
		return refuse(decisions, ErrClosed)
	}
	if len(requests) == 0 {
		return nil
	}
	b := newBatch(len(requests))
	defer b.keep()
	for i := range requests {
		b.set(i, &requests[i], n.watch)
	}
	status := C.go_decide_batch(n.handle(), bytesOf(stringOf(b.keys)), &b.asked[0], C.size_t(len(b.asked)), &b.decisions[0])
	runtime.KeepAlive(n)
	runtime.KeepAlive(&requests[0])
	if status == C.RATECELL_EINVAL {
		return refuse(decisions, errZone)
	}
	if status < 0 {
		return refuse(decisions, statusError(status))
	}
	b.write(decisions)
	return nil
}

// Claim is one of several requests that are to be allowed together or not at all.
type Claim struct {
	// Limiter decides the request.
	Limiter *Limiter
	// Request is what it is asked.
	Request Request
}

// DecideAll decides claims as one request: all are charged, or none is. Their policies have at most 64 layers in all.
// It returns the gravest outcome, Allowed if all are, and writes each decision to the same place of decisions, which is
// as long as claims, or nil: what its limiter says by itself, and of one that would have allowed, where another refuses,
// what it has still.
//
// No number of callers can have any limiter allow more than its policy; a claim that another caller overtakes is
// refused. What was charged for it is then taken back, unless the key's cell has changed since, or is one that newcomers
// share: such a charge stays.
//
// The error is of lengths that differ, of more layers, of a claim without a limiter or of a zone that its limiter does not
// take, or [ErrClosed] if one of the limiters is closed; then the outcome is Closed, nothing was charged, and no decision allows.
func DecideAll(claims []Claim, decisions []Decision) (Outcome, error) {
	if decisions != nil && len(decisions) != len(claims) {
		return Closed, refuse(decisions, fmt.Errorf("ratecell: %d claims have room for %d decisions: expected as many, or nil", len(claims), len(decisions)))
	}
	if len(claims) > C.GO_CLAIMS {
		return Closed, refuse(decisions, tooManyLayers(len(claims)))
	}
	if len(claims) == 0 {
		return Allowed, nil
	}
	var natives [C.GO_CLAIMS]*native
	b := newBatch(len(claims))
	defer b.keep()
	for i := range claims {
		limiter := claims[i].Limiter
		if limiter == nil {
			return Closed, refuse(decisions, fmt.Errorf("ratecell: claim %d of %d has no limiter: expected one", i+1, len(claims)))
		}
		n := limiter.native.Load()
		if n == nil {
			return Closed, refuse(decisions, ErrClosed)
		}
		natives[i] = n
		b.limiters = append(b.limiters, n.handle())
		b.set(i, &claims[i].Request, n.watch)
	}
	status := C.go_decide_all(&b.limiters[0], bytesOf(stringOf(b.keys)), &b.asked[0], C.size_t(len(b.asked)), &b.decisions[0])
	runtime.KeepAlive(&natives)
	runtime.KeepAlive(&claims[0])
	if status == C.RATECELL_EINVAL {
		return Closed, refuse(decisions, errZone)
	}
	if status == C.RATECELL_ESIZE {
		return Closed, refuse(decisions, tooManyLayers(len(claims)))
	}
	if status < 0 {
		return Closed, refuse(decisions, statusError(status))
	}
	b.write(decisions)
	return Outcome(status) + Allowed, nil
}

func tooManyLayers(claims int) error {
	return fmt.Errorf("ratecell: the policies of %d claims have more than %d layers: expected as many or fewer", claims, C.GO_CLAIMS)
}

// refuse leaves no decision of an earlier batch to be taken for one of this.
func refuse(decisions []Decision, err error) error {
	for i := range decisions {
		decisions[i] = undecided()
	}
	return err
}

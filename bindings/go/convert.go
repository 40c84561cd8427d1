package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"math"
	"time"
)

// fromC is a decision of the C library. An error of a call whose arguments are right by their types can only
// be a limiter that is none.
func fromC(status C.int32_t, d *C.ratecell_decision) Decision {
	if status < 0 {
		return undecided()
	}
	return Decision{
		Allowed:    status == C.RATECELL_ALLOWED,
		Outcome:    Outcome(status) + Allowed,
		Limit:      uint64(d.limit),
		Remaining:  uint64(d.remaining),
		RetryAfter: duration(d.retry_after_ns),
		ResetAfter: duration(d.reset_after_ns),
		Delay:      duration(d.delay_ns),
		Layer:      int(d.layer),
	}
}

func (d *Decision) toC() C.ratecell_decision {
	return C.ratecell_decision{
		limit:          C.uint64_t(d.Limit),
		remaining:      C.uint64_t(d.Remaining),
		retry_after_ns: nanoseconds(d.RetryAfter),
		reset_after_ns: nanoseconds(d.ResetAfter),
		delay_ns:       nanoseconds(d.Delay),
		outcome:        C.int32_t(d.Outcome - Allowed),
		layer:          C.uint32_t(d.Layer),
	}
}

func duration(ns C.uint64_t) time.Duration {
	if ns > math.MaxInt64 {
		return InfDuration
	}
	return time.Duration(ns)
}

func nanoseconds(d time.Duration) C.uint64_t {
	if d == InfDuration {
		return math.MaxUint64
	}
	return C.uint64_t(d)
}

package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"math"
	"time"
)

// The notes that a Decision keeps as they are.
const (
	noteLeased     = C.RATECELL_LEASED
	noteUnanswered = C.RATECELL_UNANSWERED
	noteNoZone     = C.RATECELL_NO_ZONE
)

// set makes d a decision of the C library. An error of a call whose arguments are right by their types can only be
// a limiter that is none.
func (d *Decision) set(status C.int32_t, c *C.ratecell_decision) {
	if status < 0 {
		*d = undecided()
		return
	}
	// Field by field: a whole Decision would be made elsewhere first, and copied.
	d.Allowed = status == C.RATECELL_ALLOWED
	d.Outcome = Outcome(status) + Allowed
	d.Limit = uint64(c.limit)
	d.Remaining = uint64(c.remaining)
	d.RetryAfter = duration(c.retry_after_ns)
	d.ResetAfter = duration(c.reset_after_ns)
	d.Delay = duration(c.delay_ns)
	d.Layer = int(c.layer)
	d.Next = duration(c.next_ns)
	d.NoPlace = c.notes&C.RATECELL_NO_PLACE != 0
	d.notes = uint8(c.notes & (noteLeased | noteUnanswered | noteNoZone))
}

// toC is the decision for C; its notes are nothing that is written of.
func (d *Decision) toC() C.ratecell_decision {
	return C.ratecell_decision{
		limit:          C.uint64_t(d.Limit),
		remaining:      C.uint64_t(d.Remaining),
		retry_after_ns: nanoseconds(d.RetryAfter),
		reset_after_ns: nanoseconds(d.ResetAfter),
		delay_ns:       nanoseconds(d.Delay),
		outcome:        C.int32_t(d.Outcome - Allowed),
		layer:          C.uint32_t(d.Layer),
		next_ns:        nanoseconds(d.Next),
	}
}

// duration is InfDuration for what never comes, and for no other time.
func duration(ns C.uint64_t) time.Duration {
	if ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	if ns == math.MaxUint64 {
		return InfDuration
	}
	return InfDuration - 1
}

func nanoseconds(d time.Duration) C.uint64_t {
	if d == InfDuration {
		return math.MaxUint64
	}
	if d < 0 {
		return 0
	}
	return C.uint64_t(d)
}

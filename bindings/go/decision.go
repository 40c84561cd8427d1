//go:build cgo

package ratecell

import (
	"math"
	"strconv"
	"time"
)

// InfDuration is a time that never comes: the RetryAfter of what can never be allowed. It equals that of
// golang.org/x/time/rate. A time that does come, but after more than the 292 years that a [time.Duration] can tell, is
// 1 ns less.
const InfDuration time.Duration = math.MaxInt64

// Outcome is the kind of an answer.
type Outcome int32

const (
	// Closed: the limiter is closed, and nothing was decided. The Outcome of the zero Decision.
	Closed Outcome = iota
	// Allowed: the request may go; its cost was charged.
	Allowed
	// Denied: not now; RetryAfter says when. Nothing was charged.
	Denied
	// Never: the cost exceeds the capacity: the request can never go. Nothing was charged.
	Never
	// ClockRange: the time is past what the policy's state can tell, some hundred years for most. Nothing
	// was charged.
	ClockRange
	// Asked: not known yet, for only the store that machines share can answer. It was asked, and nothing was charged:
	// decide again, in a millisecond or so. Only of a request with [Request.WithoutWaiting].
	Asked
	// UnclearPath: the path can be read in several ways, which the file of rules refuses: to be answered with 400. Nothing
	// was charged. Only of [Rules.Decide].
	UnclearPath
)

// String is the outcome's name in lower case, such as "allowed".
func (o Outcome) String() string {
	switch o {
	case Closed:
		return "closed"
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	case Never:
		return "never"
	case ClockRange:
		return "clock range"
	case Asked:
		return "asked"
	case UnclearPath:
		return "unclear path"
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// Decision is the answer to one request. It is plain data. The zero Decision allows nothing.
type Decision struct {
	// Allowed is whether the request may go: Outcome == Allowed.
	Allowed bool
	// NoPlace is whether a full table denied, which had no place for the key under [FullDeny], and not the policy.
	NoPlace bool
	notes   uint8 // of C's RATECELL_LEASED, RATECELL_UNANSWERED and RATECELL_NO_ZONE
	// Outcome is the kind of the answer.
	Outcome Outcome
	// Limit is the most units that can pass at one instant; of several layers, that of Layer.
	Limit uint64
	// Remaining is the units that would be allowed at this same instant, after this decision.
	Remaining uint64
	// RetryAfter is the time until the same cost would be allowed, with no other traffic on the key: 1 ns
	// earlier it is still denied. 0 if it was allowed, InfDuration if it never can be.
	RetryAfter time.Duration
	// ResetAfter is the time until the key is as good as never used.
	ResetAfter time.Duration
	// Next is the time until Remaining + 1 units would be allowed, with no other traffic on the key. 0 where there is
	// no such time, and of a request without [Request.WithNext].
	Next time.Duration
	// Delay is how long to hold the allowed request before it goes on: 0 except for a leaky_queue. Of a refusal of a
	// request with [Request.Within], the Delay that it would be given at the first instant at which the policy alone
	// allows it; above 0 where the Outcome is Never, its own units alone are delayed for longer.
	Delay time.Duration
	// Layer is which of the policy's layers has the least remaining, from 0: the one to name to who was
	// refused.
	Layer int
	// GivenBack is the units that a Release gave back; otherwise 0.
	GivenBack uint32
}

// Err is nil where a decision was made, whatever it is, and [ErrClosed] where none was.
func (d Decision) Err() error {
	if d.Outcome == Closed {
		return ErrClosed
	}
	return nil
}

// Leased is whether the limiter's units are those of many machines. Remaining is then a lower bound, and ResetAfter the end
// of what this machine holds.
func (d Decision) Leased() bool {
	return d.notes&noteLeased != 0
}

// Unanswered is whether the store of many machines did not answer, so that [OnFailureOpen] or the end of the wait decided.
// The RetryAfter of a denial is then InfDuration: it is not known.
func (d Decision) Unanswered() bool {
	return d.notes&noteUnanswered != 0
}

// NoZone is whether the request was refused, with [Never] and nothing charged, for it named no zone though the policy has
// tz=caller, or one that the limiter does not take.
func (d Decision) NoZone() bool {
	return d.notes&noteNoZone != 0
}

// withoutZone is the answer to a request whose zone its limiter does not take.
func withoutZone() Decision {
	return Decision{Outcome: Never, RetryAfter: InfDuration, notes: noteNoZone}
}

// undecided is the answer of a limiter that is closed: not now, and not later.
func undecided() Decision {
	return Decision{RetryAfter: InfDuration}
}

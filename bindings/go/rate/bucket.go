//go:build cgo

package rate

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// bucket is a Limiter between two changes.
type bucket struct {
	limit  Limit
	burst  int
	origin time.Time
	// limiter has the tokens, under one key; nil where nothing fills the bucket, or everything is allowed.
	limiter *ratecell.Limiter
	// left is the tokens where nothing fills it.
	left atomic.Int64
}

// queues is how many tokens may be reserved ahead: as many of these as the core can count at the rate.
var queues = [...]uint32{1 << 28, 1 << 20, 1 << 12, 1 << 4, 1}

// newBucket has so many tokens at a time.
func newBucket(limit Limit, burst int, t time.Time, tokens float64) *bucket {
	b := &bucket{limit: limit, burst: burst, origin: t}
	if limit == Inf || burst <= 0 {
		return b
	}
	for _, policy := range policies(limit, burst) {
		limiter, err := ratecell.New(policy, ratecell.MaxKeys(1))
		if err == nil && b.lasts(limiter, t) {
			b.limiter = limiter
			b.charge(t, float64(burst)-tokens)
			return b
		}
	}
	if float64(limit) > math.MaxUint32 {
		b.limit = Inf
		return b
	}
	b.left.Store(int64(math.Floor(math.Min(tokens, 1<<62))))
	return b
}

// charge takes tokens, a part of one as a whole.
func (b *bucket) charge(t time.Time, tokens float64) {
	if units := math.Ceil(tokens - 1e-6); units >= 1 {
		b.limiter.Decide(ratecell.NewRequest("").Cost(uint32(math.Min(units, math.MaxUint32))).At(b.instant(t)))
	}
}

// mostBurst leaves room for a queue: the two are 2^32 - 1 together at most.
const mostBurst = math.MaxUint32 - 1

// tolerances is how far a fraction may be from the Limit: one of a small one has coarser ticks, and its clock goes further.
var tolerances = [...]float64{1e-14, 1e-11, 1e-9, 1e-7, 1e-5}

// policies is the policies of a bucket, the best first; none where the rate is below or above all that there are.
func policies(limit Limit, burst int) (policies []string) {
	last := ""
	for _, tolerance := range tolerances {
		rate, ok := fraction(float64(limit), tolerance)
		if !ok || rate == last {
			continue
		}
		last = rate
		for _, queue := range queues {
			policies = append(policies, fmt.Sprintf("leaky_queue %s queue=%d burst=%d", rate, queue,
				int64(math.Min(float64(burst), mostBurst))))
		}
	}
	return policies
}

// before is some months: a time may be so long before the bucket's origin.
const before = 1 << 53

// years is how long after its origin a bucket can tell the time.
const years = 10 * 365 * 24 * time.Hour

// lasts is whether the limiter can tell the time for so long.
func (b *bucket) lasts(limiter *ratecell.Limiter, t time.Time) bool {
	return limiter.CheckAt("", 0, b.instant(t.Add(years))).Outcome != ratecell.ClockRange
}

// instant is a time as the limiter has it, by the monotonic clock where both have a reading of it.
func (b *bucket) instant(t time.Time) uint64 {
	since := t.Sub(b.origin)
	if since < -before {
		return 0
	}
	if since > math.MaxInt64-before {
		since = math.MaxInt64 - before
	}
	return uint64(before + since)
}

// tells is whether the bucket can tell the time; where nothing fills it, it needs none.
func (b *bucket) tells(t time.Time) bool {
	since := t.Sub(b.origin)
	return b.limiter == nil || since >= -before && since <= years
}

// fraction is a rate as the core has it, by the first convergent of its continued fraction that is near enough: 0.3 is 3/10s,
// and Every(7 * time.Millisecond) is 1/7000000ns. ok is false of what is below or above all that there are.
func fraction(perSecond, tolerance float64) (rate string, ok bool) {
	if perSecond <= 0 || perSecond > math.MaxUint32 {
		return "", false
	}
	if ns := math.Round(1e9 / perSecond); ns >= 1 && ns < math.MaxInt64 && near(1e9/ns, perSecond, tolerance) {
		return fmt.Sprintf("1/%dns", int64(ns)), true
	}
	x := perSecond
	over, under := [2]float64{1, 0}, [2]float64{0, 1} // the last two convergents, the latest first
	for i := 0; i < 64; i++ {
		whole := math.Floor(x)
		over[0], over[1] = whole*over[0]+over[1], over[0]
		under[0], under[1] = whole*under[0]+under[1], under[0]
		if over[0] > math.MaxUint32 || under[0] > 1e9 {
			over[0], under[0] = over[1], under[1]
			break
		}
		if near(over[0]/under[0], perSecond, tolerance) || x == whole {
			break
		}
		x = 1 / (x - whole)
	}
	if over[0] < 1 || under[0] < 1 {
		return "", false
	}
	return fmt.Sprintf("%d/%ds", uint64(over[0]), uint64(under[0])), true
}

func near(a, b, tolerance float64) bool { return math.Abs(a/b-1) < tolerance }

// take takes n tokens at a time, ahead by the longest at most.
func (b *bucket) take(t time.Time, n int, longest time.Duration, reserve bool) (delay time.Duration, held *ratecell.Reservation, ok bool) {
	switch {
	case b.limit == Inf:
		return 0, nil, true
	case n > b.burst || int64(n) > math.MaxUint32:
		return 0, nil, false
	case n <= 0:
		return 0, nil, longest >= 0
	case b.limiter == nil:
		return 0, nil, longest >= 0 && b.takeLeft(int64(n))
	case longest < 0:
		return 0, nil, false
	}
	request := ratecell.NewRequest("").Cost(uint32(n)).At(b.instant(t)).Within(longest)
	var d ratecell.Decision
	if reserve {
		d, held, _ = b.limiter.ReserveRequest(request) // an error is of a limiter that is closed, or of many machines
	} else {
		d = b.limiter.Decide(request)
	}
	return d.Delay, held, d.Allowed
}

func (b *bucket) takeLeft(n int64) bool {
	for {
		left := b.left.Load()
		if left < n {
			return false
		}
		if b.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

func (b *bucket) tokens(t time.Time) float64 {
	if b.limit == Inf {
		return float64(b.burst)
	}
	if b.limiter == nil {
		return float64(b.left.Load())
	}
	d := b.limiter.Decide(ratecell.NewRequest("").Cost(0).At(b.instant(t)))
	return float64(b.burst) - d.ResetAfter.Seconds()*float64(b.limit)
}

// changed is the bucket with other numbers. What was taken stays taken; the core knows it, where it has it before and after.
func (b *bucket) changed(t time.Time, limit Limit, burst int) *bucket {
	tokens := b.tokens(t) + float64(burst-b.burst)
	if b.limiter != nil && limit != Inf && burst > 0 {
		for _, policy := range policies(limit, burst) {
			if b.limiter.ChangeAt(policy, b.instant(t)) == nil && b.lasts(b.limiter, t) {
				return &bucket{limit: limit, burst: burst, origin: b.origin, limiter: b.limiter}
			}
		}
	}
	return newBucket(limit, burst, t, tokens)
}

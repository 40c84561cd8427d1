package ratecell

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// answer is the decision of one layer's policy.
func answer(outcome Outcome, limit, remaining uint64, retry, reset, delay time.Duration) Decision {
	return Decision{
		Allowed: outcome == Allowed, Outcome: outcome, Limit: limit, Remaining: remaining,
		RetryAfter: retry, ResetAfter: reset, Delay: delay,
	}
}

func TestDecision(t *testing.T) {
	limiter := newTest(t, "2/s burst=4")
	const now = 1_000_000_000
	for _, test := range []struct {
		cost uint32
		at   uint64
		want Decision
	}{
		{1, now, answer(Allowed, 4, 3, 0, 500*time.Millisecond, 0)},
		{3, now, answer(Allowed, 4, 0, 0, 2*time.Second, 0)},
		{2, now, answer(Denied, 4, 0, time.Second, 2*time.Second, 0)},
		{2, now + 999_999_999, answer(Denied, 4, 1, 1, 1_000_000_001, 0)},
		{2, now + 1_000_000_000, answer(Allowed, 4, 0, 0, 2*time.Second, 0)},
		{5, now + 1_000_000_000, answer(Never, 4, 0, InfDuration, 2*time.Second, 0)},
		{1, math.MaxUint64, answer(ClockRange, 4, 0, InfDuration, 0, 0)},
	} {
		got := limiter.CheckAt("k", test.cost, test.at)
		if got != test.want {
			t.Errorf("cost %d at %d: %+v, expected %+v", test.cost, test.at, got, test.want)
		}
		if got.Err() != nil {
			t.Errorf("%v is no error, got %v", got.Outcome, got.Err())
		}
	}
}

// The window ends 2^64 ns after the epoch.
func TestAWaitThatEndsIsNotNever(t *testing.T) {
	limiter := newTest(t, "fixed_window 3/4611686018427387904ns horizon=1s")
	limiter.CheckAt("k", 3, 14_000_000_000_000_000_000)
	for _, test := range []struct {
		at   uint64
		want time.Duration
	}{
		{0, InfDuration - 1},
		{1, InfDuration - 1},
		{2, InfDuration - 1},
		{1<<63 + 1, InfDuration - 1},
		{1<<63 + 2, InfDuration - 1},
		{1<<63 + 3, InfDuration - 2},
	} {
		d := limiter.CheckAt("k", 1, test.at)
		if want := (answer(Denied, 3, 0, test.want, test.want, 0)); d != want {
			t.Errorf("at %d: %+v, expected %+v", test.at, d, want)
		}
	}
	if d := limiter.CheckAt("k", 4, 1); d.Outcome != Never || d.RetryAfter != InfDuration {
		t.Errorf("beyond the capacity: %+v", d)
	}
}

func TestDelayOfAQueue(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/s queue=2")
	for i := 0; i < 3; i++ {
		if d := limiter.CheckAt("k", 1, 0); !d.Allowed || d.Delay != time.Duration(i)*time.Second {
			t.Errorf("place %d: %+v", i, d)
		}
	}
	if d := limiter.CheckAt("k", 1, 0); d.Outcome != Denied || d.Delay != 0 {
		t.Errorf("beyond the queue: %+v", d)
	}
}

func TestWithinADelay(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/s queue=5")
	request := NewRequest("k").At(0)
	for i, test := range []struct {
		maxDelay time.Duration
		want     Decision
	}{
		{-time.Second, answer(Allowed, 6, 5, 0, time.Second, 0)},
		{0, answer(Denied, 6, 5, time.Second, time.Second, time.Second)},
		{999_999_999, answer(Denied, 6, 5, 1, time.Second, time.Second)},
		{time.Second, answer(Allowed, 6, 4, 0, 2*time.Second, time.Second)},
		{InfDuration, answer(Allowed, 6, 3, 0, 3*time.Second, 2*time.Second)},
	} {
		if got := limiter.Decide(request.Within(test.maxDelay)); got != test.want {
			t.Errorf("%d, within %v: %+v, expected %+v", i, test.maxDelay, got, test.want)
		}
	}
	limiter.Allow("own clock")
	if d := limiter.Decide(NewRequest("own clock").Within(time.Millisecond)); d.Outcome != Denied || limiter.Peek("own clock").Remaining != 5 {
		t.Errorf("by the own clock: %+v", d)
	}
	if d := limiter.Decide(NewRequest("alone").At(0).Cost(3).Within(time.Second)); d.Outcome != Never || d.Delay != 2*time.Second {
		t.Errorf("units that are delayed by themselves: %+v", d)
	}
	if d := limiter.Decide(request.Within(0).Charge()); d.Remaining != 2 || !d.Allowed {
		t.Errorf("what is spent has no delay: %+v", d)
	}
}

func TestRequestIsOfOneUnit(t *testing.T) {
	limiter := newTest(t, "2/s burst=4")
	for i, test := range []struct {
		request   Request
		remaining uint64
	}{
		{Request{}, 3},
		{NewRequest(""), 2},
		{NewRequest([]byte{}), 1},
		{Request{}.Cost(0), 1},
		{Request{}.Cost(1), 0},
		{NewRequest("large").Cost(math.MaxUint32), 4},
		{NewRequest("spent").Cost(math.MaxUint32).Charge(), 0},
		{NewRequest("spent").Cost(0).Charge(), 0},
		{NewHashRequest(0).Cost(3), 1},
		{NewHashRequest(0), 0},
		{NewHashRequest(1), 3},
	} {
		if d := limiter.Decide(test.request.At(0)); d.Remaining != test.remaining {
			t.Errorf("%d: %+v, expected %d to remain", i, d, test.remaining)
		}
	}
	if d := limiter.Decide(NewRequest("spent").Cost(math.MaxUint32).At(0)); d.Outcome != Never {
		t.Errorf("the greatest cost: %+v", d)
	}
}

func TestNextIsTheTimeToOneMoreUnit(t *testing.T) {
	limiter := newTest(t, "2/s burst=4 & fixed_window 3/1m")
	request := NewRequest("k").Cost(2).At(0)
	if d := limiter.Decide(request); d.Next != 0 {
		t.Errorf("nobody asked: %+v", d)
	}
	d := limiter.Decide(request.WithNext())
	if d.Outcome != Denied || d.Remaining != 1 || d.Next == 0 {
		t.Fatalf("%+v", d)
	}
	for ns, allowed := range map[uint64]bool{uint64(d.Next) - 1: false, uint64(d.Next): true} {
		if got := limiter.CheckAt("k", uint32(d.Remaining)+1, ns); got.Allowed != allowed {
			t.Errorf("after %d ns: %+v", ns, got)
		}
	}
	if d := limiter.Decide(NewRequest("never used").Cost(0).At(0).WithNext()); d.Next != 0 {
		t.Errorf("no wait gives more than all: %+v", d)
	}
}

func TestNoPlaceIsTheTables(t *testing.T) {
	limiter := newTest(t, yearly(1), MaxKeys(8), WhenFull(FullDeny))
	full := 0
	for i := 0; i < 1000; i++ {
		d := limiter.Check(fmt.Sprint(i))
		if d.NoPlace != (d.Outcome == Denied) {
			t.Fatalf("%+v: every other key is allowed", d)
		}
		if d.NoPlace {
			full++
		} else if again := limiter.Check(fmt.Sprint(i)); again.Outcome != Denied || again.NoPlace {
			t.Fatalf("%+v: it is the policy that denies", again)
		}
	}
	if full == 0 {
		t.Error("the table was never full")
	}
}

func TestLayerIsTheOneToName(t *testing.T) {
	limiter := newTest(t, "10/s & fixed_window 2/h")
	if d := limiter.CheckAt("k", 1, 0); d.Layer != 1 || d.Limit != 2 || d.Remaining != 1 {
		t.Errorf("%+v, expected layer 1", d)
	}
}

func TestOwnClock(t *testing.T) {
	limiter := newTest(t, yearly(3))
	for i := 3; i > 0; i-- {
		if d := limiter.Peek("k"); !d.Allowed || d.Remaining != uint64(i) {
			t.Errorf("peek: %+v, expected %d to remain", d, i)
		}
		if !limiter.Allow("k") {
			t.Error("not allowed")
		}
	}
	if limiter.Allow("k") || limiter.AllowN("k", 3) || !limiter.AllowN("k", 0) {
		t.Error("a fourth was allowed, or a cost of 0 was not")
	}
	if !limiter.Forget("k") || limiter.Forget("k") {
		t.Error("to forget reports whether there was anything")
	}
	if d := limiter.Decide(NewRequest("k").Cost(2).Charge()); d.Remaining != 1 {
		t.Errorf("charge: %+v", d)
	}
	if d := limiter.Decide(NewRequest("k").Cost(math.MaxUint32).Charge()); d.Remaining != 0 || limiter.Allow("k") {
		t.Errorf("charge beyond what there is: %+v", d)
	}
	if d := limiter.Decide(NewRequest("other").Cost(2).Charge().At(limiter.Now())); d.Remaining != 1 || limiter.CheckAt("other", 0, limiter.Now()).Remaining != 1 {
		t.Errorf("charge at: %+v", d)
	}
}

func TestKeysAreTheirBytes(t *testing.T) {
	limiter := newTest(t, yearly(1))
	keys := []string{"", "\x00", "\x00\x00", "a", "a\x00", "ключ", strings.Repeat("long", 10_000), "\xff\xfe"}
	for _, key := range keys {
		if !limiter.Allow(key) {
			t.Errorf("%.10q is another key's", key)
		}
	}
	whole := "-" + strings.Join(keys, "-")
	for _, key := range keys {
		if limiter.Allow(key) || limiter.Decide(NewRequest([]byte(key))).Allowed {
			t.Errorf("%.10q was forgotten, or bytes are another key than a string", key)
		}
		at := strings.Index(whole, "-"+key) + 1
		if limiter.Allow(whole[at : at+len(key)]) {
			t.Errorf("%.10q within another string is another key", key)
		}
	}
	if d := limiter.Decide(NewRequest([]byte("b")).At(0)); !d.Allowed || limiter.CheckAt("b", 1, 0).Allowed {
		t.Errorf("%+v", d)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates, and empties pools at random")
	}
	limiter := newTest(t, "1000/s")
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	asked := requests(keys...)
	claims := []Claim{{limiter, asked[0]}, {limiter, asked[1]}}
	decisions := make([]Decision, len(keys))
	number := byte(0)
	for name, call := range map[string]func(){
		"Allow":   func() { limiter.Allow(keys[0]) },
		"Check":   func() { decisions[0] = limiter.Check(keys[1]) },
		"CheckAt": func() { decisions[0] = limiter.CheckAt(keys[1], 1, 0) },
		"Decide of bytes of the stack": func() {
			number++
			key := [16]byte{0: number}
			limiter.Decide(NewRequest(key[:]))
		},
		"Check of a short string": func() {
			number++
			key := [4]byte{number}
			limiter.Check(string(key[:]))
		},
		"Decide":      func() { limiter.Decide(NewRequest(keys[0]).Cost(2).At(1).Within(0).WithNext()) },
		"Peek":        func() { limiter.Peek(keys[0]) },
		"Charge":      func() { limiter.Decide(NewRequest(keys[0]).Charge()) },
		"Hash":        func() { limiter.Decide(NewHashRequest(7)) },
		"Forget":      func() { limiter.Forget(keys[0]) },
		"Now":         func() { limiter.Now() },
		"DecideBatch": func() { _ = limiter.DecideBatch(asked, decisions) },
		"DecideAll":   func() { _, _ = DecideAll(claims, decisions[:len(claims)]) },
	} {
		if allocations := testing.AllocsPerRun(1000, call); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

func TestGoroutinesAdmitTheLimit(t *testing.T) {
	const limit, goroutines, each = 5000, 8, 2000
	limiter := newTest(t, yearly(limit))
	keys := []string{"a", "b", "c"}
	asked := requests(keys...)
	admitted := make([]atomic.Int64, len(keys))
	var all sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			decisions := make([]Decision, len(keys))
			for i := 0; i < each; i++ {
				if i%2 == 0 {
					for k, key := range keys {
						decisions[k] = limiter.Check(key)
					}
				} else if err := limiter.DecideBatch(asked, decisions); err != nil {
					t.Error(err)
				}
				for k := range keys {
					if decisions[k].Allowed {
						admitted[k].Add(1)
					}
				}
			}
		}()
	}
	all.Wait()
	for k := range keys {
		if got := admitted[k].Load(); got != limit {
			t.Errorf("%s: %d of %d admitted, expected %d", keys[k], got, goroutines*each, limit)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for outcome, name := range map[Outcome]string{
		Closed: "closed", Allowed: "allowed", Denied: "denied", Never: "never", ClockRange: "clock range", 9: "Outcome(9)",
	} {
		if got := outcome.String(); got != name {
			t.Errorf("%d is %q, expected %q", int(outcome), got, name)
		}
	}
}

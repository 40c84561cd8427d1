package ratecell

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDecision(t *testing.T) {
	limiter := newTest(t, "2/s burst=4")
	const now = 1_000_000_000
	for _, test := range []struct {
		cost uint32
		at   uint64
		want Decision
	}{
		{1, now, Decision{true, Allowed, 4, 3, 0, 500 * time.Millisecond, 0, 0}},
		{3, now, Decision{true, Allowed, 4, 0, 0, 2 * time.Second, 0, 0}},
		{2, now, Decision{false, Denied, 4, 0, time.Second, 2 * time.Second, 0, 0}},
		{2, now + 999_999_999, Decision{false, Denied, 4, 1, 1, 1_000_000_001, 0, 0}},
		{2, now + 1_000_000_000, Decision{true, Allowed, 4, 0, 0, 2 * time.Second, 0, 0}},
		{5, now + 1_000_000_000, Decision{false, Never, 4, 0, InfDuration, 2 * time.Second, 0, 0}},
		{1, math.MaxUint64, Decision{false, ClockRange, 4, 0, InfDuration, 0, 0, 0}},
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
		if want := (Decision{false, Denied, 3, 0, test.want, test.want, 0, 0}); d != want {
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

func TestCheckWithinADelay(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/s queue=5")
	for i, test := range []struct {
		maxDelay time.Duration
		want     Decision
	}{
		{-time.Second, Decision{true, Allowed, 6, 5, 0, time.Second, 0, 0}},
		{0, Decision{false, Denied, 6, 5, time.Second, time.Second, 0, 0}},
		{999_999_999, Decision{false, Denied, 6, 5, 1, time.Second, 0, 0}},
		{time.Second, Decision{true, Allowed, 6, 4, 0, 2 * time.Second, time.Second, 0}},
		{InfDuration, Decision{true, Allowed, 6, 3, 0, 3 * time.Second, 2 * time.Second, 0}},
	} {
		if got := limiter.CheckWithinAt("k", 1, test.maxDelay, 0); got != test.want {
			t.Errorf("%d, within %v: %+v, expected %+v", i, test.maxDelay, got, test.want)
		}
	}
	limiter.Allow("own clock")
	if d := limiter.CheckWithin("own clock", 1, time.Millisecond); d.Outcome != Denied || limiter.Peek("own clock").Remaining != 5 {
		t.Errorf("by the own clock: %+v", d)
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
		t.Error("to forget tells whether there was anything")
	}
	if d := limiter.Charge("k", 2); d.Remaining != 1 {
		t.Errorf("charge: %+v", d)
	}
	if d := limiter.Charge("k", math.MaxUint32); d.Remaining != 0 || limiter.Allow("k") {
		t.Errorf("charge beyond what there is: %+v", d)
	}
	if d := limiter.ChargeAt("other", 2, limiter.Now()); d.Remaining != 1 || limiter.PeekAt("other", limiter.Now()).Remaining != 1 {
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
		if limiter.Allow(key) || limiter.CheckBytes([]byte(key), 1).Allowed {
			t.Errorf("%.10q was forgotten, or bytes are another key than a string", key)
		}
		at := strings.Index(whole, "-"+key) + 1
		if limiter.Allow(whole[at : at+len(key)]) {
			t.Errorf("%.10q within another string is another key", key)
		}
	}
	if d := limiter.CheckBytesAt([]byte("b"), 1, 0); !d.Allowed || limiter.CheckAt("b", 1, 0).Allowed {
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
	costs := make([]uint32, len(keys))
	decisions := make([]Decision, len(keys))
	number := byte(0)
	background := context.Background()
	for name, call := range map[string]func(){
		"Allow":   func() { limiter.Allow(keys[0]) },
		"Check":   func() { decisions[0] = limiter.Check(keys[1], 1) },
		"CheckAt": func() { decisions[0] = limiter.CheckAt(keys[1], 1, 0) },
		"CheckBytes of the stack": func() {
			number++
			key := [16]byte{0: number}
			limiter.CheckBytes(key[:], 1)
		},
		"Check of a short string": func() {
			number++
			key := [4]byte{number}
			limiter.Check(string(key[:]), 1)
		},
		"CheckWithin":  func() { limiter.CheckWithin(keys[0], 1, 0) },
		"Wait":         func() { _ = limiter.Wait(background, keys[2], 0) },
		"Peek":         func() { limiter.Peek(keys[0]) },
		"Charge":       func() { limiter.Charge(keys[0], 1) },
		"Forget":       func() { limiter.Forget(keys[0]) },
		"Now":          func() { limiter.Now() },
		"CheckBatch":   func() { _ = limiter.CheckBatch(keys, decisions) },
		"CheckBatchN":  func() { _ = limiter.CheckBatchN(keys, costs, decisions) },
		"CheckBatchAt": func() { _ = limiter.CheckBatchAt(keys, nil, 0, decisions) },
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
						decisions[k] = limiter.Check(key, 1)
					}
				} else if err := limiter.CheckBatch(keys, decisions); err != nil {
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

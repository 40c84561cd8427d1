package ratecell

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// What single checks decide a batch decides, in every length around the C side's portions and beyond what is
// kept for the next.
func TestBatchIsSingleChecks(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	const policy = "100/s burst=20 & sliding_window 60/1m"
	single, batch := newTest(t, policy), newTest(t, policy)
	for now, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, keptRequests + 1, 3} {
		keys := make([]string, n)
		costs := make([]uint32, n)
		for i := range keys {
			keys[i] = strings.Repeat("k", random.Intn(50))
			costs[i] = uint32(random.Intn(25))
		}
		if n%2 == 0 {
			costs = nil
		}
		decisions := make([]Decision, n)
		if err := batch.CheckBatchAt(keys, costs, uint64(now)*1e9, decisions); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			cost := uint32(1)
			if costs != nil {
				cost = costs[i]
			}
			if want := single.CheckAt(key, cost, uint64(now)*1e9); decisions[i] != want {
				t.Fatalf("request %d of %d: %+v, expected %+v", i, n, decisions[i], want)
			}
		}
	}
}

func TestBatchByItsOwnClock(t *testing.T) {
	limiter := newTest(t, yearly(3))
	decisions := make([]Decision, 3)
	if err := limiter.CheckBatch([]string{"a", "", "a"}, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Remaining != 2 || decisions[1].Remaining != 2 || decisions[2].Remaining != 1 {
		t.Errorf("%+v", decisions)
	}
	if err := limiter.CheckBatchN([]string{"a", "b", ""}, []uint32{2, 4, 0}, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Outcome != Denied || decisions[1].Outcome != Never || decisions[2].Remaining != 2 {
		t.Errorf("%+v", decisions)
	}
	if err := limiter.CheckBatch(nil, nil); err != nil {
		t.Errorf("no keys: %v", err)
	}
}

func TestBatchOfWrongLengths(t *testing.T) {
	limiter := newTest(t, yearly(3))
	keys := []string{"a", "b"}
	for name, call := range map[string]func([]Decision) error{
		"decisions":   func(d []Decision) error { return limiter.CheckBatch(keys, d) },
		"costs":       func(d []Decision) error { return limiter.CheckBatchN(keys, []uint32{1}, d[:2]) },
		"no costs":    func(d []Decision) error { return limiter.CheckBatchN(keys, nil, d[:2]) },
		"costs at":    func(d []Decision) error { return limiter.CheckBatchAt(keys, []uint32{}, 0, d[:2]) },
		"decision at": func(d []Decision) error { return limiter.CheckBatchAt(keys, nil, 0, d[:1]) },
	} {
		decisions := []Decision{{Allowed: true}, {Allowed: true}, {Allowed: true}}
		err := call(decisions)
		if err == nil || !strings.Contains(err.Error(), "batch of 2 keys") || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v", name, err)
		}
		if decisions[0].Allowed {
			t.Errorf("%s: a decision of before is left", name)
		}
	}
	if d := limiter.Peek("a"); d.Remaining != 3 {
		t.Errorf("something was charged: %+v", d)
	}
	limiter.Close()
	decisions := []Decision{{Allowed: true}, {Allowed: true}}
	if err := limiter.CheckBatch(keys, decisions); !errors.Is(err, ErrClosed) || decisions[1] != undecided() {
		t.Errorf("closed: %v, %+v", err, decisions)
	}
}

func BenchmarkAllow(b *testing.B) {
	limiter := newTest(b, "1000000/s")
	for i := 0; i < b.N; i++ {
		limiter.Allow("user:42")
	}
}

func BenchmarkCheck(b *testing.B) {
	limiter := newTest(b, "1000000/s")
	for i := 0; i < b.N; i++ {
		limiter.Check("user:42", 1)
	}
}

func BenchmarkCheckBatch32(b *testing.B) {
	limiter := newTest(b, "1000000/s")
	keys, decisions := make([]string, 32), make([]Decision, 32)
	for i := range keys {
		keys[i] = fmt.Sprint("user:", i)
	}
	for i := 0; i < b.N; i += len(keys) {
		_ = limiter.CheckBatch(keys, decisions)
	}
}

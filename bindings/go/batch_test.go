package ratecell

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// requests are those for one unit of each key.
func requests(keys ...string) []Request {
	made := make([]Request, len(keys))
	for i, key := range keys {
		made[i] = NewRequest(key)
	}
	return made
}

// anyRequest is a request of any kind, at about now.
func anyRequest(random *rand.Rand, now uint64) Request {
	request := NewRequest(strings.Repeat("k", random.Intn(50)))
	if random.Intn(4) == 0 {
		request = NewHashRequest(uint64(random.Intn(50)))
	}
	request = request.At(now + uint64(random.Intn(1000)))
	if random.Intn(3) > 0 {
		request = request.Cost(uint32(random.Intn(25)))
	}
	if random.Intn(3) == 0 {
		request = request.Within(time.Duration(random.Intn(2e9)))
	}
	if random.Intn(5) == 0 {
		request = request.Charge()
	}
	if random.Intn(2) == 0 {
		request = request.WithNext()
	}
	return request
}

// What single requests decide a batch decides, in every length around the C side's portions and beyond what is
// kept for the next.
func TestBatchIsSingleRequests(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	const policy = "leaky_queue 10/s queue=20 & sliding_window 60/1m"
	// The same hashes are the same keys in both, but keys of bytes are not the same hashes: with room for all, that
	// changes nothing.
	single, batch := newTest(t, policy), newTest(t, policy)
	outcomes := map[Outcome]int{}
	for now, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, keptRequests + 1, 3} {
		asked := make([]Request, n)
		for i := range asked {
			asked[i] = anyRequest(random, uint64(now)*1e9)
		}
		decisions := make([]Decision, n)
		if err := batch.DecideBatch(asked, decisions); err != nil {
			t.Fatal(err)
		}
		for i := range asked {
			want := single.Decide(asked[i])
			if decisions[i] != want {
				t.Fatalf("request %d of %d: %+v, expected %+v", i, n, decisions[i], want)
			}
			outcomes[want.Outcome]++
		}
	}
	if outcomes[Allowed] == 0 || outcomes[Denied] == 0 || outcomes[Never] == 0 {
		t.Errorf("%v: expected some of each", outcomes)
	}
}

func TestBatchByItsOwnClock(t *testing.T) {
	limiter := newTest(t, yearly(3))
	decisions := make([]Decision, 3)
	if err := limiter.DecideBatch(requests("a", "", "a"), decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Remaining != 2 || decisions[1].Remaining != 2 || decisions[2].Remaining != 1 {
		t.Errorf("%+v", decisions)
	}
	asked := []Request{NewRequest("a").Cost(2), NewRequest([]byte("b")).Cost(4), NewRequest("").Cost(0)}
	if err := limiter.DecideBatch(asked, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Outcome != Denied || decisions[1].Outcome != Never || decisions[2].Remaining != 2 {
		t.Errorf("%+v", decisions)
	}
	if err := limiter.DecideBatch(nil, nil); err != nil {
		t.Errorf("no requests: %v", err)
	}
}

// Those with an instant of their own keep it, in a batch that is longer than a portion of the C side's, too.
func TestBatchOfTwoClocks(t *testing.T) {
	const n = 200
	limiter := newTest(t, "2/s burst=4", MaxKeys(1000))
	limiter.CheckAt("k", 4, 0)
	asked, decisions := requests(make([]string, n)...), make([]Decision, n)
	asked[0], asked[n-1] = NewRequest("k").At(0), NewRequest("k").At(500_000_000)
	if err := limiter.DecideBatch(asked, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Allowed || !decisions[n-1].Allowed || !decisions[1].Allowed {
		t.Errorf("%+v, %+v, %+v", decisions[0], decisions[1], decisions[n-1])
	}
	// By the limiter's clock, which began days ago or hours: at its zero all this would have drained long since.
	slow := newTest(t, "1/m burst=200")
	if err := slow.DecideBatch(requests(make([]string, n)...), decisions); err != nil {
		t.Fatal(err)
	}
	if d := slow.Peek(""); d.Remaining > n/2 {
		t.Errorf("%+v after a batch of %d", d, n)
	}
}

func TestBatchOfWrongLengths(t *testing.T) {
	limiter := newTest(t, yearly(3))
	asked := requests("a", "b")
	for _, n := range []int{0, 1, 3} {
		decisions := []Decision{{Allowed: true}, {Allowed: true}, {Allowed: true}}
		err := limiter.DecideBatch(asked, decisions[:n])
		if err == nil || !strings.Contains(err.Error(), "batch of 2 requests") || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%d: %v", n, err)
		}
		if n > 0 && decisions[0].Allowed {
			t.Errorf("%d: a decision of before is left", n)
		}
	}
	if d := limiter.Peek("a"); d.Remaining != 3 {
		t.Errorf("something was charged: %+v", d)
	}
	limiter.Close()
	decisions := []Decision{{Allowed: true}, {Allowed: true}}
	if err := limiter.DecideBatch(asked, decisions); !errors.Is(err, ErrClosed) || decisions[1] != undecided() {
		t.Errorf("closed: %v, %+v", err, decisions)
	}
}

func TestDecideAllChargesAllOrNone(t *testing.T) {
	wide, narrow := newTest(t, yearly(10)), newTest(t, yearly(2))
	claims := []Claim{{wide, NewRequest("everybody").Cost(2)}, {narrow, NewRequest("k")}}
	decisions := make([]Decision, 2)
	for i := uint64(1); i <= 2; i++ {
		outcome, err := DecideAll(claims, decisions)
		if outcome != Allowed || err != nil || decisions[0].Remaining != 10-2*i || decisions[1].Remaining != 2-i {
			t.Fatalf("%v, %v, %+v", outcome, err, decisions)
		}
	}
	outcome, err := DecideAll(claims, decisions)
	if outcome != Denied || err != nil || !decisions[0].Allowed || decisions[0].Remaining != 6 || decisions[1].Allowed {
		t.Errorf("%v, %v, %+v", outcome, err, decisions)
	}
	if d := wide.Peek("everybody"); d.Remaining != 6 {
		t.Errorf("one was charged where the other refused: %+v", d)
	}
	claims[1].Request = NewRequest("other").Cost(3)
	if outcome, err := DecideAll(claims, nil); outcome != Never || err != nil {
		t.Errorf("without decisions: %v, %v", outcome, err)
	}
	if outcome, err := DecideAll(nil, nil); outcome != Allowed || err != nil {
		t.Errorf("no claims: %v, %v", outcome, err)
	}
}

func TestDecideAllOfWhatIsWrong(t *testing.T) {
	limiter, closed := newTest(t, "100/h & 200/h"), newTest(t, "1/s")
	closed.Close()
	mine := Claim{limiter, NewRequest("k")}
	many := func(n int) (claims []Claim) {
		for ; n > 0; n-- {
			claims = append(claims, mine)
		}
		return claims
	}
	for says, claims := range map[string][]Claim{
		"claim 2 of 2 has no limiter": {mine, {}},
		"the limiter is closed":       {mine, {closed, NewRequest("k")}},
		"of 33 claims":                many(33),
		"of 65 claims":                many(65),
	} {
		decisions := make([]Decision, len(claims))
		decisions[0].Allowed = true
		outcome, err := DecideAll(claims, decisions)
		if outcome != Closed || err == nil || !strings.Contains(err.Error(), says) || decisions[0] != undecided() {
			t.Errorf("%v, %v, %+v: expected %q", outcome, err, decisions[0], says)
		}
	}
	if _, err := DecideAll(many(2), make([]Decision, 1)); err == nil || !strings.Contains(err.Error(), "2 claims") {
		t.Errorf("room for one decision: %v", err)
	}
	if d := limiter.Peek("k"); d.Remaining != 100 {
		t.Errorf("something was charged: %+v", d)
	}
	if outcome, err := DecideAll(many(32), nil); outcome != Allowed || err != nil || limiter.Peek("k").Remaining != 68 {
		t.Errorf("64 layers: %v, %v, %+v", outcome, err, limiter.Peek("k"))
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
		limiter.Check("user:42")
	}
}

func BenchmarkDecide(b *testing.B) {
	limiter := newTest(b, "1000000/s")
	for i := 0; i < b.N; i++ {
		limiter.Decide(NewRequest("user:42").WithNext())
	}
}

func BenchmarkDecideBatch32(b *testing.B) {
	limiter := newTest(b, "1000000/s")
	asked, decisions := make([]Request, 32), make([]Decision, 32)
	for i := range asked {
		asked[i] = NewRequest(fmt.Sprint("user:", i))
	}
	for i := 0; i < b.N; i += len(asked) {
		_ = limiter.DecideBatch(asked, decisions)
	}
}

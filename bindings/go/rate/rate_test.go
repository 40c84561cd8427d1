package rate

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestRatesAreFractions(t *testing.T) {
	for limit, policy := range map[Limit]string{
		10:                          "leaky_queue 1/100ms queue=268435456 burst=5",
		0.3:                         "leaky_queue 3/10s queue=268435456 burst=5",
		Every(7 * time.Millisecond): "leaky_queue 1/7ms queue=268435456 burst=5",
		Every(3 * time.Second):      "leaky_queue 1/3s queue=268435456 burst=5",
		Every(time.Hour):            "leaky_queue 1/h queue=1048576 burst=5",
		1e9:                         "leaky_queue 1/ns queue=268435456 burst=5",
	} {
		if got := NewLimiter(limit, 5).bucket().limiter.Policy(); got != policy {
			t.Errorf("%v: %s, expected %s", float64(limit), got, policy)
		}
	}
	for _, limit := range []Limit{12345.678, 1e5 / 7.0, 0.123456789, 1 / 2.718281828, 4e9, 3e6 + 0.1} {
		lim, now := NewLimiter(limit, 1), time.Now()
		lim.AllowN(now, 1)
		if lim.bucket().limiter == nil {
			t.Errorf("%v: expected a rate", float64(limit))
		}
		wait := lim.ReserveN(now, 1).DelayFrom(now).Seconds()
		if want := 1 / float64(limit); wait < want*(1-1e-4)-1e-9 || wait > want*(1+1e-4)+1e-9 {
			t.Errorf("%v: a token in %v s, expected %v", float64(limit), wait, want)
		}
	}
}

func TestWhatIsAtTheEdges(t *testing.T) {
	now := time.Now()
	var zero Limiter
	if zero.AllowN(now, 1) || zero.Limit() != 0 || zero.Burst() != 0 || zero.TokensAt(now) != 0 || zero.ReserveN(now, 1).OK() {
		t.Error("the zero Limiter allows nothing")
	}
	all := NewLimiter(Inf, 0)
	if !all.AllowN(now, 1<<40) || all.ReserveN(now, 7).DelayFrom(now) != 0 || all.WaitN(context.Background(), 9) != nil {
		t.Error("Inf allows everything")
	}
	if Every(0) != Inf || Every(100*time.Millisecond) != 10 {
		t.Error("Every")
	}
	for _, limit := range []Limit{0, -1, 1e-12} {
		still := NewLimiter(limit, 2)
		if !still.AllowN(now, 2) || still.AllowN(now.Add(time.Hour), 1) || still.Tokens() != 0 {
			t.Errorf("%v: expected the burst alone", float64(limit))
		}
		still.SetLimitAt(now, 10)
		if still.AllowN(now, 1) || !still.AllowN(now.Add(100*time.Millisecond), 1) {
			t.Errorf("%v: expected 10 a second since", float64(limit))
		}
		still.SetLimitAt(now.Add(100*time.Millisecond), limit)
		if still.AllowN(now.Add(time.Hour), 1) {
			t.Errorf("%v: expected nothing again", float64(limit))
		}
	}
	none := NewLimiter(10, 0)
	if none.AllowN(now, 1) || none.ReserveN(now, 1).DelayFrom(now) != InfDuration || !none.AllowN(now, 0) {
		t.Error("a burst of 0 allows nothing")
	}
	none.SetBurstAt(now, 3)
	if !none.AllowN(now, 3) || none.AllowN(now, 1) || none.Burst() != 3 {
		t.Error("expected a burst of 3")
	}
	if NewLimiter(1, 1).AllowN(now.AddDate(-300, 0, 0), 1) != true {
		t.Error("a time long ago")
	}
}

func TestTheGreatestBursts(t *testing.T) {
	now := time.Now()
	for _, burst := range []int{math.MaxInt32, math.MaxInt} {
		for _, limit := range []Limit{1e-3, 10, 1e9} {
			lim := NewLimiter(limit, burst)
			if !lim.AllowN(now, 1) || !lim.AllowN(now, 1_000_000) || lim.Burst() != burst {
				t.Errorf("%v, burst %d: expected all of them", float64(limit), burst)
			}
			if limit == 1e9 && !lim.AllowN(now.Add(time.Second), math.MaxInt32) {
				t.Errorf("burst %d: expected all of them again", burst)
			}
		}
	}
}

func TestWaiting(t *testing.T) {
	lim := NewLimiter(Every(time.Hour), 1)
	if err := lim.Wait(context.Background()); err != nil {
		t.Error(err)
	}
	if err := lim.WaitN(context.Background(), 2); err == nil || !strings.Contains(err.Error(), "exceeds limiter's burst 1") {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := lim.Wait(soon); err == nil || !strings.Contains(err.Error(), "would exceed context deadline") {
		t.Error(err)
	}
	tokens := lim.Tokens()
	ctx, give := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- lim.Wait(ctx) }()
	for lim.Tokens() > tokens-0.5 { // until it is reserved
		time.Sleep(time.Millisecond)
	}
	give()
	if err := <-ended; !errors.Is(err, context.Canceled) || lim.Tokens() < tokens-1e-6 {
		t.Errorf("%v, %v tokens: expected those of before, %v", err, lim.Tokens(), tokens)
	}
	if err := lim.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	quick := NewLimiter(1000, 1)
	started := time.Now()
	for i := 0; i < 5; i++ {
		if err := quick.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(started); took < 4*time.Millisecond {
		t.Errorf("%v for five at 1000 a second", took)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	lim, now := NewLimiter(1e6, 10), time.Now()
	if allocations := testing.AllocsPerRun(1000, func() { lim.AllowN(now, 1) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

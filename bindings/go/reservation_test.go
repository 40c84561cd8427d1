package ratecell

import (
	"context"
	"encoding"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	_ encoding.BinaryMarshaler   = (*Reservation)(nil)
	_ encoding.BinaryUnmarshaler = (*Reservation)(nil)
)

// reserved is a limiter, and cost units of "key" that are reserved in it.
func reserved(t *testing.T, policy string, cost uint32) (*Limiter, *Reservation) {
	t.Helper()
	limiter := newLimiterOf(t, policy)
	d, r, err := limiter.Reserve("key", cost)
	if err != nil || !d.Allowed || r == nil || r.Cost() != cost {
		t.Fatalf("%v, %v, %v", d, r, err)
	}
	return limiter, r
}

func newLimiterOf(t *testing.T, policy string) *Limiter {
	t.Helper()
	limiter, err := New(policy, MaxKeys(100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return limiter
}

func TestWhatWasNotUsedComesBackOnce(t *testing.T) {
	limiter, r := reserved(t, "fixed_window 20/1w", 10)
	limiter.AllowN("key", 3)
	if d := r.Settle(4); d.Remaining != 13 || !d.Allowed {
		t.Errorf("settled: %+v", d)
	}
	if d := r.Settle(0); d.Remaining != 13 || !d.Allowed {
		t.Errorf("settled again: %+v", d)
	}
	_, more, _ := limiter.Reserve("key", 1)
	if d := more.Settle(4); d.Remaining != 9 {
		t.Errorf("more than was reserved: %+v", d)
	}
	_, forgotten, _ := limiter.Reserve("key", 5)
	limiter.Forget("key")
	if d := forgotten.Settle(0); d.Remaining != 20 {
		t.Errorf("forgotten: %+v", d)
	}
}

func TestAPermitIsReleasedOnce(t *testing.T) {
	limiter, r := reserved(t, "in_flight 2 hold=1w", 1)
	other := func() Decision { return limiter.Check("key") }
	if d := other(); !d.Allowed {
		t.Fatalf("the second: %+v", d)
	}
	if d := other(); d.Allowed {
		t.Fatalf("the third: %+v", d)
	}
	if d := r.Renew(); !d.Allowed {
		t.Errorf("renewed: %+v", d)
	}
	if d := r.Release(); d.GivenBack != 1 || d.Remaining != 1 {
		t.Errorf("released: %+v", d)
	}
	if d := r.Release(); d.GivenBack != 0 || d.Remaining != 1 {
		t.Errorf("released again: %+v", d)
	}
	if d := r.Renew(); d.Remaining != 1 {
		t.Errorf("renewed after its release: %+v", d)
	}
}

func TestAReservationAtAnInstant(t *testing.T) {
	limiter := newLimiterOf(t, "in_flight 1 hold=10s")
	const second = 1_000_000_000
	_, r, err := limiter.ReserveRequest(NewRequest("key").At(0))
	if err != nil {
		t.Fatal(err)
	}
	for now := uint64(10); now < 100; now += 10 {
		if d := r.RenewAt(now * second); !d.Allowed {
			t.Fatalf("at %d s: %+v", now, d)
		}
	}
	if d := r.RenewAt(1 << 63); d.Outcome != Allowed {
		t.Errorf("acquired again: %+v", d)
	}
	if d := r.ReleaseAt(1 << 63); d.GivenBack != 1 {
		t.Errorf("released: %+v", d)
	}
	rate := newLimiterOf(t, "1/s burst=20")
	_, r, _ = rate.ReserveRequest(NewHashRequest(7).Cost(10).At(0))
	if d := r.SettleAt(0, 1<<64-1); d.Outcome != ClockRange {
		t.Errorf("past the clock: %+v", d)
	}
	// Four have drained.
	if d := r.SettleAt(0, 4*second); d.Remaining != 20 {
		t.Errorf("settled: %+v", d)
	}
}

func TestWhatIsRefusedReservesNothing(t *testing.T) {
	limiter := newLimiterOf(t, "20/1w")
	d, r, err := limiter.Reserve("key", 21)
	if d.Outcome != Never || r != nil || err != nil {
		t.Errorf("%v, %v, %v", d, r, err)
	}
	// A refused request's is nil, and can be deferred all the same.
	for _, d := range []Decision{r.Settle(1), r.SettleAt(1, 1), r.Release(), r.ReleaseAt(1), r.Renew(), r.RenewAt(1)} {
		if d.Err() == nil {
			t.Errorf("of nil: %+v", d)
		}
	}
	if _, err := r.MarshalBinary(); err == nil || r.Cost() != 0 {
		t.Error("nil has bytes")
	}
	var refused *Error
	if _, r, err = limiter.ReserveRequest(NewRequest("key").Charge()); r != nil || !errors.As(err, &refused) || refused.Status != StatusInvalid {
		t.Errorf("a charge: %v, %v", r, err)
	}
	if d := limiter.Peek("key"); d.Remaining != 20 {
		t.Errorf("charged: %+v", d)
	}
}

func TestAClosedLimiterReservesNothing(t *testing.T) {
	limiter, r := reserved(t, "20/1w", 5)
	limiter.Close()
	if d := r.Settle(0); d.Err() != ErrClosed {
		t.Errorf("%+v", d)
	}
	if d, r, err := limiter.Reserve("key", 1); d.Allowed || r != nil || err != ErrClosed {
		t.Errorf("%v, %v, %v", d, r, err)
	}
}

func TestBytesGoToWhoSharesTheFile(t *testing.T) {
	open := func(name string) *Limiter {
		limiter, err := Open(name, "20/1w & in_flight 15 hold=1w", MaxKeys(100))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { limiter.Close() })
		return limiter
	}
	dir := t.TempDir()
	one, other, stranger := open(filepath.Join(dir, "a")), open(filepath.Join(dir, "a")), open(filepath.Join(dir, "b"))
	_, r, err := one.Reserve("key", 10)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.MarshalBinary()
	if err != nil || len(data) != 24+2*40 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	stranger.AllowN("key", 10)
	for _, by := range []struct {
		limiter   *Limiter
		back      uint32
		remaining uint64
	}{{stranger, 0, 5}, {other, 10, 15}} {
		var r Reservation
		if err := r.UnmarshalBinary(data); err != nil || r.Cost() != 10 {
			t.Fatalf("%v", err)
		}
		if d := r.Settle(4); d.Err() == nil {
			t.Errorf("settled before it was resumed: %+v", d)
		}
		by.limiter.Resume(&r)
		if d := r.Settle(4); !d.Allowed {
			t.Errorf("settled: %+v", d)
		}
		if d := r.Release(); d.GivenBack != by.back {
			t.Errorf("released: %+v", d)
		}
		if d := by.limiter.Peek("key"); d.Remaining < by.remaining {
			t.Errorf("%+v: expected %d", d, by.remaining)
		}
	}
}

func TestBytesThatAreNoReservation(t *testing.T) {
	_, r := reserved(t, "20/1w", 5)
	data, _ := r.MarshalBinary()
	changed := func(at int, to byte) []byte {
		bytes := append([]byte(nil), data...)
		bytes[at] = to
		return bytes
	}
	for _, bad := range []struct {
		data     []byte
		expected string
	}{
		{nil, "0 bytes"}, {data[:23], "23 bytes"}, {data[:63], "63 bytes"}, {append(changed(12, 1), 0), "65 bytes"},
		{changed(12, 0), "64 bytes"}, {changed(12, 2), "64 bytes"}, {changed(12, 255), "64 bytes"}, {changed(13, 2), "form 2"},
	} {
		var r Reservation
		if err := r.UnmarshalBinary(bad.data); err == nil || !strings.Contains(err.Error(), bad.expected) {
			t.Errorf("%v: expected %q", err, bad.expected)
		}
		if _, err := r.MarshalBinary(); err == nil {
			t.Error("an empty one has bytes")
		}
	}
}

func TestNoMoreAreInFlightThanMayBe(t *testing.T) {
	const limit = 3
	limiter := newLimiterOf(t, "in_flight 3 hold=1w")
	var inFlight, most atomic.Int64
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 2000; i++ {
				d, r, err := limiter.Reserve("key", 1)
				if err != nil || !d.Allowed {
					continue
				}
				now := inFlight.Add(1)
				for most := &most; now > most.Load(); {
					most.CompareAndSwap(most.Load(), now)
				}
				if i%2 == 0 {
					r.Renew()
				}
				inFlight.Add(-1)
				r.Release()
			}
		}()
	}
	group.Wait()
	if most.Load() > limit || most.Load() == 0 {
		t.Errorf("%d at once: expected 1 to %d", most.Load(), limit)
	}
	if d := limiter.Peek("key"); d.Remaining != limit {
		t.Errorf("%+v: expected that all came back", d)
	}
}

// The permit would come back by itself only after a week.
func TestAReleaseWakesWhoWaits(t *testing.T) {
	limiter, r := reserved(t, "in_flight 1 hold=1w", 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waited := make(chan error)
	go func() { waited <- limiter.Wait(ctx, "key", 1) }()
	for limiter.native.Load().line.standing.Load() == 0 {
		select {
		case err := <-waited:
			t.Fatal(err)
		default:
		}
	}
	r.Release()
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

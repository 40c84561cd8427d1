package rate

import (
	"context"
	"testing"
	"time"
)

// The clock of a test may show any date, and a limiter is made before it shows its first.
func TestTimesOfAnyDate(t *testing.T) {
	for _, start := range []time.Time{
		time.Date(1984, time.April, 4, 0, 0, 0, 0, time.UTC),
		time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		time.Now().Add(-24 * time.Hour),
		time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC),
		{},
	} {
		lim := NewLimiter(10, 2)
		for step := 0; step < 5; step++ {
			at := start.Add(time.Duration(step) * time.Hour)
			if !lim.AllowN(at, 2) || lim.AllowN(at, 1) {
				t.Errorf("%v: expected two", at)
			}
			r := lim.ReserveN(at, 1)
			if delay := r.DelayFrom(at); delay != 100*time.Millisecond {
				t.Errorf("%v: a delay of %v", at, delay)
			}
			r.CancelAt(at)
			if !lim.AllowN(at.Add(100*time.Millisecond), 1) {
				t.Errorf("%v: expected the token that was given back", at)
			}
		}
		// And a program that goes on by the system's clock is not shut out.
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		if err := lim.Wait(soon); err != nil {
			t.Errorf("after %v: %v", start, err)
		}
		cancel()
	}
	// Back and forth nobody wins what was taken by the system's clock.
	lim := NewLimiter(Every(time.Hour), 2)
	if !lim.AllowN(time.Now(), 2) || lim.AllowN(time.Unix(0, 0), 1) {
		t.Error("expected none by a clock of long ago")
	}
}

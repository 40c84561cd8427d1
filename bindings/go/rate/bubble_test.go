//go:build go1.25

// A module of an older Go has timers that bubbles do not know.
//go:debug asynctimerchan=0

package rate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestABubbleHasGosClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, started := NewLimiter(Every(time.Hour), 1), time.Now()
		for i := 0; i < 4; i++ {
			if err := lim.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(started); took != 3*time.Hour {
			t.Errorf("%v: expected three hours", took)
		}
	})
}

//go:build go1.25

// A module of an older Go has timers that bubbles do not know.
//go:debug asynctimerchan=0

package ratecelltest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

func TestABubbleHasGosClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, "1/h", ratecell.GoClock())
		started := time.Now()
		for i := 0; i < 3; i++ {
			if err := l.Wait(context.Background(), "a", 1); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(started); took != 2*time.Hour {
			t.Errorf("%v: expected two hours", took)
		}
	})
}

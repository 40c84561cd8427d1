package ratecell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// leasedPolicy is that of the file which RATECELL_LEASED_FILE names, and which a running agent fills.
const leasedPolicy = "1000/h burst=1000"

// leased opens the file of leases of the agent that runs beside the tests.
func leased(t *testing.T, options ...Option) *Limiter {
	t.Helper()
	path := os.Getenv("RATECELL_LEASED_FILE")
	if path == "" {
		t.Skip("RATECELL_LEASED_FILE names no file of leases (ci/leased.sh)")
	}
	limiter, err := Open(path, leasedPolicy, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	if stats := leasedStats(t, limiter); !stats.Connected {
		t.Fatalf("%s: no agent is connected to the store: %+v", path, stats)
	}
	return limiter
}

func leasedStats(t *testing.T, limiter *Limiter) Stats {
	t.Helper()
	stats, err := limiter.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// newKey is one that the store has never seen.
func newKey(t *testing.T) string {
	return fmt.Sprintf("%s-%d-%d", t.Name(), os.Getpid(), time.Now().UnixNano())
}

// until repeats what is not done yet.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestAMissWaitsForTheStore(t *testing.T) {
	limiter := leased(t, OnMissWait(20*time.Second))
	before := leasedStats(t, limiter)
	key := newKey(t)
	if d := limiter.CheckN(key, 1000); !d.Allowed || !d.Leased() || d.Unanswered() || d.Limit != 1000 {
		t.Errorf("a new key: %+v", d)
	}
	if d := limiter.CheckN(key, 1001); d.Outcome != Never || !d.Leased() {
		t.Errorf("more than the capacity: %+v", d)
	}
	after := leasedStats(t, limiter)
	if after.Misses <= before.Misses || after.Waits <= before.Waits || after.Timeouts != before.Timeouts {
		t.Errorf("%+v, and before %+v", after, before)
	}
	// The agent counts after it has answered.
	until(t, "the agent counts", func() bool {
		stats := leasedStats(t, limiter)
		return stats.Operations > before.Operations && stats.Leased >= before.Leased+1000
	})
	// An agent that paces its questions may deny before the store does, and longer.
	until(t, "the store denies what exceeds its units", func() bool {
		d := limiter.Check(key)
		if d.Allowed {
			t.Fatalf("1001 units of 1000: %+v", d)
		}
		return d.Outcome == Denied && d.RetryAfter <= 4*time.Second
	})
}

func TestATryDoesNotWait(t *testing.T) {
	limiter := leased(t, OnMissWait(20*time.Second))
	before := leasedStats(t, limiter)
	request := NewRequest(newKey(t)).WithoutWaiting()
	if d := limiter.Decide(request); d.Outcome != Asked || d.Allowed || !d.Leased() || d.Err() != nil {
		t.Errorf("a new key: %+v", d)
	}
	until(t, "the answer arrives", func() bool { return limiter.Decide(request).Allowed })
	if after := leasedStats(t, limiter); after.Waits != before.Waits {
		t.Errorf("%d waits, and before %d", after.Waits, before.Waits)
	}
}

// Wait holds a lock while it asks: who waits for the store sleeps elsewhere.
func TestALineDoesNotWaitInC(t *testing.T) {
	limiter := leased(t, OnMissWait(20*time.Second))
	before := leasedStats(t, limiter)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := limiter.Wait(ctx, newKey(t), 5); err != nil {
		t.Error(err)
	}
	if after := leasedStats(t, limiter); after.Waits != before.Waits || after.Misses <= before.Misses {
		t.Errorf("%+v, and before %+v", after, before)
	}
}

func TestAMissIsDeniedAtOnce(t *testing.T) {
	limiter := leased(t, OnMissDeny(), OnFailureOpen())
	key := newKey(t)
	if d := limiter.Check(key); d.Outcome != Denied || !d.Leased() || !d.Unanswered() || d.RetryAfter != InfDuration {
		t.Errorf("a new key: %+v", d)
	}
	until(t, "the store was asked all the same", func() bool { return limiter.Allow(key) })
}

func TestAFileOfLeasesHasOnePolicy(t *testing.T) {
	leased(t)
	_, err := Open(os.Getenv("RATECELL_LEASED_FILE"), "7/h")
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != StatusStore {
		t.Errorf("%v, expected an error of StatusStore", err)
	}
}

func TestOnlyLeasesHaveMisses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	for _, option := range []Option{OnMissWait(time.Millisecond), OnMissDeny(), OnFailureOpen()} {
		for _, made := range []func() (*Limiter, error){
			func() (*Limiter, error) { return New("7/h", option) },
			func() (*Limiter, error) { return Open(path, "7/h", option) },
		} {
			var refused *Error
			if _, err := made(); !errors.As(err, &refused) || refused.Status != StatusConfig {
				t.Errorf("%v, expected an error of StatusConfig", err)
			}
		}
	}
	if _, err := New("7/h", OnMissWait(0)); err == nil {
		t.Error("OnMissWait(0) is taken")
	}
	limiter := newTest(t, "7/h")
	d := limiter.Decide(NewRequest("k").WithoutWaiting())
	if !d.Allowed || d.Leased() || d.Unanswered() {
		t.Errorf("%+v", d)
	}
	if stats := leasedStats(t, limiter); stats.Connected || stats.Leased != 0 {
		t.Errorf("%+v", stats)
	}
	if Asked.String() != "asked" {
		t.Error(Asked)
	}
}

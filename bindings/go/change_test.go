package ratecell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWhatIsUsedStaysUsedAcrossAChange(t *testing.T) {
	limiter := newLimiterOf(t, "1/s burst=10")
	limiter.CheckAt("key", 10, 0)
	second := uint64(time.Second)
	if err := limiter.ChangeAt("10/s burst=10", second); err != nil {
		t.Fatal(err)
	}
	if limiter.Policy() != "10/s burst=10" {
		t.Errorf("Policy() = %q", limiter.Policy())
	}
	if d := limiter.CheckAt("key", 0, second); d.Remaining != 1 {
		t.Errorf("at the change: %+v", d)
	}
	if d := limiter.CheckAt("key", 0, second+900_000_000); d.Remaining != 10 {
		t.Errorf("900 ms later: %+v", d)
	}
	limiter.Close()
	if limiter.Policy() != "10/s burst=10" {
		t.Errorf("closed: Policy() = %q", limiter.Policy())
	}
}

func TestAChangeIsSeenByEveryLimiterOfTheKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells")
	var limiters [2]*Limiter
	for i := range limiters {
		limiter, err := Open(path, "fixed_window 5/365d", MaxKeys(100))
		if err != nil {
			t.Fatal(err)
		}
		defer limiter.Close()
		limiters[i] = limiter
	}
	tier, err := limiters[0].WithPolicy("fixed_window 7/365d")
	if err != nil {
		t.Fatal(err)
	}
	defer tier.Close()
	limiters[0].AllowN("key", 3)
	if err := limiters[0].Change("fixed_window 20/365d"); err != nil {
		t.Fatal(err)
	}
	for limiter, want := range map[*Limiter]uint64{limiters[0]: 17, limiters[1]: 17, tier: 4} {
		if d := limiter.Peek("key"); d.Remaining != want {
			t.Errorf("%s: %+v, expected %d", limiter.Policy(), d, want)
		}
	}
	if here, there := limiters[0].Policy(), limiters[1].Policy(); here != there || tier.Policy() == here {
		t.Errorf("%q, %q and %q", here, there, tier.Policy())
	}
}

func TestAChangeThatCannotBeIsNamed(t *testing.T) {
	limiter := newLimiterOf(t, "10/s & fixed_window 50/h")
	limiter.CheckAt("key", 5, 0)
	for _, test := range []struct {
		policy string
		status Status
		says   []string
	}{
		{"10/s", StatusChange, []string{"`10/s` cannot follow `10/s & fixed_window 50/h`", "expected as many layers"}},
		{"10/s & fixed_window 50/d", StatusChange, []string{"the same window"}},
		{"10/s & sliding_window 50/h", StatusChange, []string{"the same algorithm"}},
		{"0/s & fixed_window 50/h", StatusPolicyZeroLimit, []string{"limit is 0"}},
		{"10/s &", StatusPolicySyntax, []string{"column"}},
	} {
		err := limiter.Change(test.policy)
		if statusOf(err) != test.status {
			t.Errorf("%s: %v, expected %v", test.policy, err, test.status)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", test.policy, err, part)
			}
		}
	}
	if err := limiter.Change("1/s\x00"); err == nil || !strings.Contains(err.Error(), "NUL at byte 3") {
		t.Errorf("a NUL: %v", err)
	}
	if d := limiter.CheckAt("key", 0, 0); d.Remaining != 5 || limiter.Policy() != "10/s & fixed_window 50/h" {
		t.Errorf("something has changed: %+v of %q", d, limiter.Policy())
	}
	limiter.Close()
	if err := limiter.Change("20/s & fixed_window 50/h"); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
	if err := new(Limiter).ChangeAt("1/s", 0); err != ErrClosed {
		t.Errorf("the zero Limiter: %v", err)
	}
}

func TestWhoWaitsAsksByTheNewPolicy(t *testing.T) {
	limiter := newLimiterOf(t, yearly(4))
	limiter.AllowN("key", 4)
	ended := make(chan error, 2)
	for _, key := range []string{"key", "other"} {
		if key == "other" {
			limiter.AllowN(key, 4)
		}
		cost := map[string]uint32{"key": 1, "other": 3}[key]
		go func(key string) { ended <- limiter.Wait(context.Background(), key, cost) }(key)
	}
	for limiter.native.Load().line.standing.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	// 4 are used still: 2 above the new burst for the one, and above what it can ever have for the other.
	if err := limiter.Change(yearly(4) + " burst=2"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrNever) {
		t.Errorf("3 units of 2: %v", err)
	}
	if err := limiter.Change(yearly(4) + " burst=5"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("1 unit, when there is one: %v", err)
	}
	// More than the first policy's burst can be waited for.
	if err := limiter.Wait(context.Background(), "new", 5); err != nil {
		t.Errorf("5 units of 5: %v", err)
	}
}

func TestWhoWaitsInAnotherLimiterAsksByTheNewPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells")
	var limiters [2]*Limiter
	for i := range limiters {
		limiter, err := Open(path, yearly(4), MaxKeys(100))
		if err != nil {
			t.Fatal(err)
		}
		defer limiter.Close()
		limiters[i] = limiter
	}
	here, there := limiters[0], limiters[1]
	if err := there.Wait(context.Background(), "key", 4); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- there.Wait(context.Background(), "key", 1) }()
	for there.native.Load().line.standing.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	if err := here.Change(yearly(4) + " burst=5"); err != nil {
		t.Fatal(err)
	}
	// More than the first policy's burst; it comes to a line that has not heard of the change.
	if err := there.Wait(context.Background(), "new", 5); err != nil {
		t.Errorf("5 units of 5: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("1 unit, when there is one: %v", err)
	}
	var refused *WaitError
	if err := there.Wait(context.Background(), "new", 6); !errors.As(err, &refused) || refused.Reason != ErrNever {
		t.Errorf("6 units of 5: %v", err)
	}
}

func TestRequestsAreDecidedWhileThePolicyChanges(t *testing.T) {
	limiter := newLimiterOf(t, "fixed_window 1000/365d")
	var allowed [4]int
	var group sync.WaitGroup
	for i := range allowed {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for n := 0; n < 500; n++ {
				if limiter.Allow("key") {
					allowed[i]++
				}
			}
		}(i)
	}
	for n := 0; n < 50; n++ {
		limit := []string{"1500", "1000"}[n%2]
		if err := limiter.Change("fixed_window " + limit + "/365d"); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	if sum := allowed[0] + allowed[1] + allowed[2] + allowed[3]; sum < 1000 || sum > 1500 {
		t.Errorf("%d allowed, expected 1000 to 1500", sum)
	}
}

func TestALimiterWithoutAPolicyHasTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells")
	if _, err := Open(path, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is made: %v", err)
	}
	first, err := Open(path, "fixed_window 10/365d")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	follower, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	if err := first.Change("fixed_window 20/365d"); err != nil {
		t.Fatal(err)
	}
	if got := follower.Policy(); got != first.Policy() || !follower.AllowN("key", 20) || first.Allow("key") {
		t.Errorf("%q, %q", got, first.Policy())
	}
}

// A file with another rate is refused, unless its policy is followed or changed for all.
func TestOpenOverAnotherPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	open := func(policy string, options ...Option) *Limiter {
		t.Helper()
		limiter, err := Open(path, policy, options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { limiter.Close() })
		return limiter
	}
	first := open("10/365d", MaxKeys(100))
	if !first.AllowN("key", 10) {
		t.Fatal("ten were refused")
	}
	_, err := Open(path, "12/365d")
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != StatusRegionPolicy || !strings.Contains(refused.Text, "`10/365d` in force; expected `12/365d`") {
		t.Fatalf("%v: expected StatusRegionPolicy, with both policies", err)
	}
	if own := open("10/365d burst=11"); !own.Allow("key") || own.Allow("key") || first.Policy() != "10/365d" {
		t.Fatal("a burst is not its limiter's own")
	}
	follower := open("12/365d", Following())
	if got := follower.Policy(); got != "10/365d" {
		t.Fatalf("a follower has %q", got)
	}
	changer := open("12/365d", Changing())
	if first.Policy() != "12/365d" || follower.Policy() != "12/365d" {
		t.Fatalf("after a change: %q and %q", first.Policy(), follower.Policy())
	}
	if !follower.Allow("key") || changer.Allow("key") {
		t.Fatal("11 of 12 were used")
	}
	for what, options := range map[string][]Option{"of New": {Changing()}, "beside each other": {Following(), Changing()}} {
		if limiter, err := New("12/365d", options...); err == nil {
			limiter.Close()
			t.Fatalf("%s: no error", what)
		}
	}
	if _, err := Open(path, "12/365d", Following(), Changing()); !errors.As(err, &refused) || refused.Status != StatusConfig {
		t.Fatalf("%v: expected StatusConfig", err)
	}
}

package ratecell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// yearly is a policy that gives back n units a year: what is admitted within a test is n.
func yearly(n int) string {
	return fmt.Sprint(n, "/365d")
}

func newTest(t testing.TB, policy string, options ...Option) *Limiter {
	t.Helper()
	limiter, err := New(policy, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return limiter
}

func TestPolicyIsToldInOneForm(t *testing.T) {
	limiter := newTest(t, "  100/1000ms   burst=200 &  fixed_window 5000/60m ")
	if got, want := limiter.Policy(), "100/s burst=200 & fixed_window 5000/h"; got != want {
		t.Errorf("Policy() = %q, expected %q", got, want)
	}
	limiter.Close()
	if limiter.Policy() == "" {
		t.Error("a closed limiter forgot its policy")
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		make func() (*Limiter, error)
		says []string
	}{
		"policy":         {func() (*Limiter, error) { return New("100 a second") }, []string{"LIMIT/PERIOD"}},
		"unknown":        {func() (*Limiter, error) { return New("lucky 3/s") }, []string{"lucky", "gcra"}},
		"zero":           {func() (*Limiter, error) { return New("0/s") }, []string{"limit"}},
		"empty":          {func() (*Limiter, error) { return New("") }, []string{"expected"}},
		"NUL":            {func() (*Limiter, error) { return New("1/s\x00") }, []string{"NUL at byte 3"}},
		"max keys":       {func() (*Limiter, error) { return New("1/s", MaxKeys(0)) }, []string{"MaxKeys(0)", "1 or more"}},
		"too many keys":  {func() (*Limiter, error) { return New("1/s", MaxKeys(1<<62)) }, []string{"cannot be allocated", "max_keys"}},
		"when full":      {func() (*Limiter, error) { return New("1/s", WhenFull(7)) }, []string{"WhenFull(7)", "FullDeny"}},
		"nil option":     {func() (*Limiter, error) { return New("1/s", MaxKeys(8), nil) }, []string{"option 2 of 2 is nil", "expected"}},
		"path NUL":       {func() (*Limiter, error) { return Open("a\x00b", "1/s") }, []string{"path", "NUL"}},
		"no folder":      {func() (*Limiter, error) { return Open(filepath.Join(dir, "no", "file"), "1/s") }, []string{"No such file"}},
		"a folder":       {func() (*Limiter, error) { return Open(dir, "1/s") }, []string{"Is a directory"}},
		"bad policy":     {func() (*Limiter, error) { return Open(filepath.Join(dir, "a"), "1/") }, []string{"expected"}},
		"not to share":   {func() (*Limiter, error) { return Open(filepath.Join(dir, "b"), "sliding_log 5/h") }, []string{"sliding_log"}},
		"other layers":   {func() (*Limiter, error) { return newTest(t, "1/s").WithPolicy("1/s & 2/m") }, []string{"number of layers", "expected 2"}},
		"other window":   {func() (*Limiter, error) { return newTest(t, "fixed_window 1/s").WithPolicy("fixed_window 1/m") }, []string{"words", "expected fixed of 1m"}},
		"worse policy":   {func() (*Limiter, error) { return newTest(t, "1/s").WithPolicy("x") }, []string{"expected"}},
		"nul, other one": {func() (*Limiter, error) { return newTest(t, "1/s").WithPolicy("\x00") }, []string{"NUL at byte 0"}},
	} {
		limiter, err := test.make()
		if err == nil || limiter != nil {
			t.Errorf("%s: %v, %v: expected an error", name, limiter, err)
			continue
		}
		for _, says := range test.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q does not say %q", name, err, says)
			}
		}
	}
}

func TestWhenFull(t *testing.T) {
	for full, counted := range map[Full]func(Stats) uint64{
		FullEvict: func(s Stats) uint64 { return s.Evicted },
		FullShare: func(s Stats) uint64 { return s.Shared },
		FullDeny:  func(s Stats) uint64 { return s.DeniedFull },
		FullAllow: func(s Stats) uint64 { return s.AllowedFull },
	} {
		limiter := newTest(t, yearly(1), MaxKeys(8), WhenFull(full))
		for i := 0; i < 1000; i++ {
			limiter.Allow(strings.Repeat("k", i))
		}
		stats, err := limiter.StatsExact()
		if again, _ := limiter.Stats(); again != stats {
			t.Errorf("WhenFull(%d): %+v, expected all of a small table to be counted: %+v", full, again, stats)
		}
		if err != nil || counted(stats) == 0 || stats.Slots < 8 || stats.Live == 0 || stats.Bytes == 0 {
			t.Errorf("WhenFull(%d): %+v, %v", full, stats, err)
		}
		if sum := stats.Evicted + stats.Shared + stats.DeniedFull + stats.AllowedFull; sum != counted(stats) {
			t.Errorf("WhenFull(%d) answered otherwise: %+v", full, stats)
		}
	}
}

func TestWithPolicySharesKeys(t *testing.T) {
	limiter := newTest(t, "1/365d burst=5")
	limiter.AllowN("k", 4)
	larger, err := limiter.WithPolicy("1/365d burst=10")
	if err != nil {
		t.Fatal(err)
	}
	defer larger.Close()
	if d := larger.Peek("k"); d.Remaining != 6 || d.Limit != 10 {
		t.Errorf("with the larger burst: %+v, expected 6 of 10 to remain", d)
	}
	limiter.Close()
	if !larger.AllowN("k", 6) || larger.Allow("k") {
		t.Error("the other limiter does not outlive the first")
	}
}

// A file keeps the key that was denied, and no other, if it is asked to.
func TestNamesAreKeptInAFile(t *testing.T) {
	open := func(options ...Option) (string, error) {
		path := filepath.Join(t.TempDir(), "limits")
		limiter, err := Open(path, yearly(1), append(options, MaxKeys(1000))...)
		if err != nil {
			return "", err
		}
		defer limiter.Close()
		for _, key := range []string{"allowed", "refused", "refused"} {
			limiter.Check(key)
		}
		again, err := Open(path, "", Names())
		if err == nil {
			again.Close()
		}
		if (err == nil) != (len(options) > 0) {
			t.Errorf("opened with names, having been made with %d options: %v", len(options), err)
		}
		content, err := os.ReadFile(path)
		return string(content), err
	}
	named, err := open(Names())
	if err != nil || !strings.Contains(named, "refused") || strings.Contains(named, "allowed") {
		t.Errorf("with names: %v, %d bytes", err, len(named))
	}
	if nameless, err := open(); err != nil || strings.Contains(nameless, "refused") {
		t.Errorf("without: %v", err)
	}
	if _, err := New("1/s", Names()); err == nil {
		t.Error("New took Names: expected a refusal")
	}
}

func TestOpenSharesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	var limiters []*Limiter
	for i := 0; i < 3; i++ {
		limiter, err := Open(path, "1/365d burst=5", MaxKeys(1000))
		if err != nil {
			t.Fatal(err)
		}
		limiters = append(limiters, limiter)
	}
	admitted := 0
	for i := 0; i < 30; i++ {
		if limiters[i%3].Allow("k") {
			admitted++
		}
	}
	if admitted != 5 {
		t.Errorf("three limiters of one file admitted %d, expected 5", admitted)
	}
	if _, err := Open(path, "1/365d burst=5", MaxKeys(2000)); err == nil || !strings.Contains(err.Error(), "2000") {
		t.Errorf("another max_keys: %v, expected an error that says 2000", err)
	}
	for _, limiter := range limiters {
		limiter.Close()
	}
	again, err := Open(path, "1/365d burst=6")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if d := again.Peek("k"); d.Remaining != 1 {
		t.Errorf("after all have closed it: %+v, expected 1 of 6 to remain", d)
	}
}

func TestClosed(t *testing.T) {
	closed := newTest(t, "10/s")
	for i := 0; i < 2; i++ {
		if err := closed.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for name, limiter := range map[string]*Limiter{"closed": closed, "zero": {}} {
		for _, d := range []Decision{
			limiter.Check("k"), limiter.CheckN("k", 0), limiter.CheckAt("k", 1, 0), limiter.Peek("k"),
			limiter.Decide(NewRequest("k")), limiter.Decide(NewRequest("k").Charge()),
		} {
			if d.Allowed || d.Outcome != Closed || !errors.Is(d.Err(), ErrClosed) || d.RetryAfter != InfDuration {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if limiter.Allow("k") || limiter.AllowN("k", 0) || limiter.Forget("k") || limiter.Now() != 0 || !limiter.Epoch().IsZero() {
			t.Errorf("%s: something was decided", name)
		}
		if _, err := limiter.Stats(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: Stats: %v", name, err)
		}
		if _, err := limiter.WithPolicy("1/s"); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: WithPolicy: %v", name, err)
		}
	}
}

// Close beside calls of every kind: each of them is before it or after it, and the memory of those under way
// stays. Each limiter is collected while others are used.
func TestCloseBesideCalls(t *testing.T) {
	for round := 0; round < 50; round++ {
		limiter, err := New(yearly(1000), MaxKeys(64))
		if err != nil {
			t.Fatal(err)
		}
		var admitted atomic.Int64
		var all sync.WaitGroup
		for g := 0; g < 4; g++ {
			all.Add(1)
			go func() {
				defer all.Done()
				decisions := make([]Decision, 2)
				for {
					d := limiter.Check("k")
					if d.Outcome == Closed {
						break
					}
					if d.Allowed {
						admitted.Add(1)
					}
					_ = limiter.DecideBatch(requests("a", "b"), decisions)
					limiter.Forget("a")
					_, _ = limiter.Stats()
				}
				if limiter.Allow("k") {
					t.Error("a closed limiter allowed")
				}
			}()
		}
		runtime.Gosched()
		limiter.Close()
		runtime.GC()
		all.Wait()
		if admitted.Load() > 1000 {
			t.Errorf("%d admitted of 1000", admitted.Load())
		}
	}
}

func TestEpochIsAMonday(t *testing.T) {
	limiter := newTest(t, "1/s")
	epoch := limiter.Epoch()
	if epoch.Weekday() != time.Monday || epoch.Truncate(24*time.Hour) != epoch || epoch.After(time.Now()) {
		t.Errorf("the epoch is %v", epoch)
	}
	first, second := limiter.Now(), limiter.Now()
	if first == 0 || second < first {
		t.Errorf("the clock said %d, then %d", first, second)
	}
}

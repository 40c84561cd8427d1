package ratecell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// mapped is the bytes of address space of this process.
func mapped(t *testing.T) uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("this system does not tell the size of a process: %v", err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// manyLimiters makes 20 limiters of 25 MB or more each, hands each to end, and returns the bytes of all.
func manyLimiters(t *testing.T, policy string, end func(*Limiter)) (bytes uint64) {
	t.Helper()
	const limiters = 20
	for i := 0; i < limiters; i++ {
		limiter, err := New(policy, MaxKeys(1_000_000))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			stats, _ := limiter.Stats()
			bytes = limiters * stats.Bytes
		}
		end(limiter)
	}
	if bytes < limiters*25e6 {
		t.Fatalf("the limiters had %d bytes", bytes)
	}
	return bytes
}

// expectGivenBack waits until most of the bytes are no longer this process's. What its threads take is less than
// the rest.
func expectGivenBack(t *testing.T, name string, before, bytes uint64, meanwhile func()) {
	t.Helper()
	for i := 0; mapped(t) > before+bytes/2; i++ {
		if i == 1000 {
			t.Fatalf("%s: of %d bytes of limiters %d are still there", name, bytes, mapped(t)-before)
		}
		meanwhile()
		time.Sleep(10 * time.Millisecond) // the finalizers run beside
	}
}

// Rules that are closed; and no change of a file takes a table.
func TestRulesGiveTheirMemoryBack(t *testing.T) {
	const tables = 20
	before := mapped(t)
	for i := 0; i < tables; i++ {
		newRules(t, siteAndLogin, MaxKeys(1_000_000)).Close()
	}
	expectGivenBack(t, "closed", before, tables*25e6, func() {})
	rules := newRules(t, siteAndLogin, MaxKeys(1_000_000))
	before = mapped(t)
	for i := 0; i < tables; i++ {
		if err := rules.Change(strings.Replace(siteAndLogin, "2/m", fmt.Sprintf("%d/m", 3+i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	expectGivenBack(t, "changed", before, tables*25e6, func() {})
}

// Limiters that are closed, and those that nothing refers to, give their memory to a collection.
func TestMemoryIsGivenBack(t *testing.T) {
	before := mapped(t)
	close := false
	bytes := manyLimiters(t, "1/s", func(limiter *Limiter) {
		if close = !close; close {
			limiter.Close()
		}
	})
	expectGivenBack(t, "closed, or not referred to", before, bytes, runtime.GC)
}

// Closing is enough, where nothing else makes the runtime collect.
func TestCloseStartsACollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, test := range map[string]struct {
		policy string
		end    func(*Limiter)
	}{
		"memory":           {"1/s", func(limiter *Limiter) { limiter.Close() }},
		"of no known size": {"sliding_log 1/s", func(limiter *Limiter) { limiter.Close() }},
		"another policy": {"1/s", func(limiter *Limiter) {
			other, err := limiter.WithPolicy("2/s")
			if err != nil {
				t.Fatal(err)
			}
			limiter.Close()
			other.Close()
		}},
	} {
		before := mapped(t)
		bytes := manyLimiters(t, test.policy, test.end)
		expectGivenBack(t, name, before, bytes, func() {})
	}
}

func TestTablesKnowTheirBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	opened, err := Open(path, "1/s & 2/m", MaxKeys(1000))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	again, err := Open(path, "1/s & 2/m")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for name, limiter := range map[string]*Limiter{"opened": opened, "again": again, "made": newTest(t, "1/s", MaxKeys(1000))} {
		stats, err := limiter.Stats()
		if err != nil || limiter.table.bytes < stats.Bytes || limiter.table.bytes > stats.Bytes+16_000 {
			t.Errorf("%s: %d bytes, expected about %d, %v", name, limiter.table.bytes, stats.Bytes, err)
		}
	}
}

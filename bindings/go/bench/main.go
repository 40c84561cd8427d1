// The command bench measures a keyed check beside golang.org/x/time/rate, which has no keys, in a map with a
// mutex: what its documentation and most services do; and beside github.com/sethvargo/go-limiter, whose keys are in a map of its
// own. All contenders take turns in one run, in short rounds, so
// that what else the machine does falls on all alike; the median of each one's rounds is printed.
//
//	go run . [-rounds 31] [-ops 200000]
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"runtime"
	"sort"
	"sync"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/time/rate"
)

// A policy that admits nearly all, as most are: both sides pay for the charge.
const (
	policy     = "1000000/s"
	perSecond  = 1_000_000
	batchWidth = 32
)

// A contender decides count requests, whose keys are keys[from], keys[from+1] and so on round and round, and
// tells how many were admitted.
type contender struct {
	name string
	run  func(keys []string, from, count int) int
}

// mapped is x/time/rate with keys.
type mapped struct {
	mutex    sync.Mutex
	limiters map[string]*rate.Limiter
}

func (m *mapped) allow(key string) bool {
	m.mutex.Lock()
	limiter := m.limiters[key]
	if limiter == nil {
		limiter = rate.NewLimiter(perSecond, perSecond)
		m.limiters[key] = limiter
	}
	m.mutex.Unlock()
	return limiter.Allow()
}

func contenders(keys int) []contender {
	limiter, err := ratecell.New(policy, ratecell.MaxKeys(keys))
	if err != nil {
		log.Fatal(err)
	}
	store, err := memorystore.New(&memorystore.Config{Tokens: perSecond, Interval: time.Second, InitialAlloc: keys})
	if err != nil {
		log.Fatal(err)
	}
	background := context.Background()
	take := func(key string) bool {
		_, _, _, ok, err := store.Take(background, key)
		return ok && err == nil
	}
	peer := &mapped{limiters: make(map[string]*rate.Limiter, keys)}
	each := func(allow func(string) bool) func([]string, int, int) int {
		return func(keys []string, from, count int) int {
			admitted := 0
			for i := 0; i < count; i++ {
				if allow(keys[(from+i)%len(keys)]) {
					admitted++
				}
			}
			return admitted
		}
	}
	return []contender{
		{"x/time/rate, map, mutex", each(peer.allow)},
		{"sethvargo/go-limiter", each(take)},
		{"ratecell Allow", each(limiter.Allow)},
		{"ratecell DecideBatch of 32", func(keys []string, from, count int) int {
			var batch [batchWidth]ratecell.Request
			var decisions [batchWidth]ratecell.Decision
			admitted := 0
			for done := 0; done < count; done += batchWidth {
				for i := range batch {
					batch[i] = ratecell.NewRequest(keys[(from+done+i)%len(keys)])
				}
				if err := limiter.DecideBatch(batch[:], decisions[:]); err != nil {
					log.Fatal(err)
				}
				for i := range decisions {
					if decisions[i].Allowed {
						admitted++
					}
				}
			}
			return admitted
		}},
		{"a call into C that does nothing", each(nothing)},
	}
}

// measure is the wall time in ns a decision of one round: each goroutine makes ops of them.
func measure(c contender, keys []string, goroutines, round, ops int) (ns, admitted float64) {
	var all sync.WaitGroup
	sums := make([]int, goroutines)
	started := time.Now()
	for g := 0; g < goroutines; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			sums[g] = c.run(keys, (round*goroutines+g)*ops, ops)
		}()
	}
	all.Wait()
	ns = float64(time.Since(started).Nanoseconds()) / float64(ops*goroutines)
	for _, sum := range sums {
		admitted += float64(sum)
	}
	return ns, admitted / float64(ops*goroutines)
}

func median(values []float64) float64 {
	sort.Float64s(values)
	return values[len(values)/2]
}

func main() {
	rounds := flag.Int("rounds", 31, "rounds of each contender")
	ops := flag.Int("ops", 200_000, "decisions a goroutine and round")
	flag.Parse()
	*ops -= *ops % batchWidth
	if *rounds < 1 || *ops < batchWidth {
		log.Fatalf("-rounds %d -ops %d: expected 1 or more, and %d or more", *rounds, *ops, batchWidth)
	}
	fmt.Printf("%s, %s/%s, GOMAXPROCS %d; %d rounds of %d decisions a goroutine; medians\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *rounds, *ops)
	for _, count := range []int{1_000, 1_000_000} {
		keys, other := workload(count)
		field := contenders(count)
		for _, c := range field { // every key is known before the first round
			c.run(other, 0, len(other))
		}
		for _, goroutines := range []int{1, 2} {
			report(field, keys, goroutines, *rounds, *ops)
		}
	}
}

func report(field []contender, keys []string, goroutines, rounds, ops int) {
	times, admitted := make([][]float64, len(field)), make([]float64, len(field))
	for round := 0; round < rounds; round++ {
		for i := range field {
			c := (i + round) % len(field)
			ns, share := measure(field[c], keys, goroutines, round, ops)
			times[c] = append(times[c], ns)
			admitted[c] += share / float64(rounds)
		}
	}
	fmt.Printf("\n%d keys, %d goroutines\n", len(keys), goroutines)
	base := median(times[0])
	for i, c := range field {
		ns := median(times[i])
		fmt.Printf("  %-33s %7.1f ns  ratio %.2f  admitted %.3f\n", c.name, ns, ns/base, admitted[i])
	}
}

// Package ratecell is a rate limiter that runs inside the process. Its decisions are exact, take no lock, and use a
// fixed amount of memory. Processes that open the same file limit together, in whatever language they are written.
//
//	limiter, err := ratecell.New("100/s burst=200", ratecell.MaxKeys(1_000_000))
//	if err != nil { … }
//	if limiter.Allow("user:42") {
//		// serve it
//	}
//
// # Policies
//
// A policy is text:
//
//	100/s                                     GCRA, 100 at once
//	10/s burst=50                             GCRA, 50 at once
//	token_bucket 5/10s capacity=10 mode=interval
//	leaky_queue 10/s queue=20                 says how long an allowed request waits
//	sliding_window 1000/1m                    two weighted windows; strict=true for the estimate itself
//	sliding_log 5/1h                          exact, 8 bytes a unit
//	fixed_window 5000/1h                      aligned to UTC; offset=30m, or start=first
//	in_flight 20 hold=60s                     so many at once; a permit that is not released comes back after hold
//	10/s burst=20 & sliding_window 1000/1h    layers: all or none
//
// "100 per minute", "10r/s", "1_000/hour" and "0.5/s" are read as well; [Limiter.Policy] is the canonical form.
// Rates are exact fractions: 3 a second is 3 in every second, for ever. An error of [New] says what is wrong
// with a policy, where, and what was expected.
//
// # Decisions
//
// A refusal is an answer and not an error: every [Decision] has the limit, the units that remain, and the time until the
// same request is allowed, exact to the nanosecond. [Limiter.Check] decides one unit of a key, now. A [Request] says
// more: a cost, an instant, the longest delay, or that the units have been spent already. [Limiter.Decide] decides one,
// [Limiter.DecideBatch] many, and [DecideAll] those of several limiters, all or none.
//
// [Limiter.Reserve] is for a cost that is known only afterwards, and for layers in_flight, which count those who have not
// ended: its [Reservation] is settled and released.
//
// [Rules] decide by a file that says which limits apply to which requests: [NewRules].
//
// An instant is for tests, replays and cached clocks: nanoseconds since any instant, as long as all that share the
// limiter mean the same. The limiter's own is [Limiter.Now], since [Limiter.Epoch].
//
// # Keys
//
// A key is any bytes. The empty key is valid. Keys are read during the call and not kept: the table holds a keyed hash
// of each, of which nobody outside can make two collide. The key of one request is read where it is; those of a batch
// are copied first, since C may be given no memory of Go's that has pointers in it, as a slice of strings has.
//
// # Memory
//
// About 26 bytes a key, all taken when a limiter is made, outside the heap of Go: the garbage collector does
// not see it. A check allocates nothing. When all places are in use, keys that have nothing left to remember
// are reused, which changes no decision; then [WhenFull] decides.
//
// # Goroutines and processes
//
// Any number of goroutines may call any method of one [Limiter] at once, Close among them. Any number of
// processes may share one file through [Open]. Together they admit exactly what the policy allows; a process
// killed at any instruction blocks nobody. After a fork without exec, a limiter of [New] is the child's own.
package ratecell

package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// Stats is what a limiter holds and what has happened to it. Of several layers, the sum of the events and of the
// bytes, and the most slots and live keys of any. Of a file, of all processes.
type Stats struct {
	// Slots is the places for keys. The table is advertised for five sevenths of them.
	Slots uint64
	// Live is the keys that are not as good as never used.
	Live uint64
	// LiveError is how many more or fewer than Live there may be: 0 where all were counted, which is exact while
	// nothing else runs. Of a sample it is four standard errors, and bounds the error of all but 1 of 10,000
	// limiters.
	LiveError uint64
	// Bytes is the memory, fixed when the limiter was made; a sliding_log's entries come on top.
	Bytes uint64
	// Evicted is the live keys that were erased for newcomers.
	Evicted uint64
	// Forgiven is the units that erased keys still held, each key's rounded up: what may have passed beyond
	// the policy.
	Forgiven uint64
	// Shared is the requests decided on a state shared by newcomers without room.
	Shared uint64
	// DeniedFull is the newcomers denied for want of room.
	DeniedFull uint64
	// AllowedFull is the newcomers allowed uncharged for want of room.
	AllowedFull uint64
	// Exhausted is the requests that met so many others at once that they were answered as by a full table.
	Exhausted uint64
	// Leased is the units that the store granted to this machine. This and all below are 0 but of a file of leases, whose
	// counts are those of all processes since it was made.
	Leased uint64
	// Used is the units of them that were used. A lease is counted when it is replaced.
	Used uint64
	// Passed is the units of them that passed unused.
	Passed uint64
	// GivenBack is the units that were given back to the store.
	GivenBack uint64
	// Misses is the requests that no lease could answer.
	Misses uint64
	// Waits is the misses that waited for the store.
	Waits uint64
	// Timeouts is the misses that waited in vain.
	Timeouts uint64
	// Operations is the operations that were sent to the store.
	Operations uint64
	// SwapsLost is the operations that came after another machine's, and were repeated.
	SwapsLost uint64
	// Lag is how far the machine's idea of the store's clock is behind at most.
	Lag time.Duration
	// Healed is the words that were found below what this machine had charged. Above 0, the store has forgotten what it was
	// told.
	Healed uint64
	// BoardFull is the misses that had no room on the machine's board.
	BoardFull uint64
	// Opened is the units that were allowed uncharged, because the store was away.
	Opened uint64
	// Local is the units that the agent granted by its part of the policy, because the store was away.
	Local uint64
	// Connected is whether an agent is there, and the store answers it.
	Connected bool
}

// Stats tells what the limiter holds now. Above 163,840 keys Live is estimated, within LiveError.
// The error is [ErrClosed].
func (l *Limiter) Stats() (Stats, error) {
	return l.stats(0, 0)
}

// StatsAt is Stats at nowNs.
func (l *Limiter) StatsAt(nowNs uint64) (Stats, error) {
	return l.stats(C.RATECELL_AT, nowNs)
}

// StatsExact is Stats with every key counted. It reads the whole table: tens of milliseconds for ten million keys.
func (l *Limiter) StatsExact() (Stats, error) {
	return l.stats(C.RATECELL_EXACT, 0)
}

// StatsExactAt is StatsExact at nowNs.
func (l *Limiter) StatsExactAt(nowNs uint64) (Stats, error) {
	return l.stats(C.RATECELL_EXACT|C.RATECELL_AT, nowNs)
}

func (l *Limiter) stats(flags C.uint32_t, nowNs uint64) (Stats, error) {
	n := l.native.Load()
	if n == nil {
		return Stats{}, ErrClosed
	}
	var stats C.ratecell_stats
	size := C.size_t(unsafe.Sizeof(stats))
	flags, nowNs = instantOf(n.watch, flags, nowNs)
	status := C.ratecell_limiter_stats(n.limiter, flags, C.uint64_t(nowNs), &stats, size)
	runtime.KeepAlive(n)
	return statsOf(status, &stats)
}

// Stats tells what the rules hold now, and what has happened. They have one table, and one for each sliding_log: events and
// bytes are summed over them, and slots and live keys are those of the table with the most. Above 163,840 keys in a table Live is estimated, within LiveError. The counts of
// a table go when a [Rules.Change] takes it away. The error is [ErrClosed].
func (r *Rules) Stats() (Stats, error) {
	return r.stats(0, 0)
}

// StatsAt is Stats at nowNs.
func (r *Rules) StatsAt(nowNs uint64) (Stats, error) {
	return r.stats(C.RATECELL_AT, nowNs)
}

func (r *Rules) stats(flags C.uint32_t, nowNs uint64) (Stats, error) {
	n := r.native.Load()
	if n == nil {
		return Stats{}, ErrClosed
	}
	var stats C.ratecell_stats
	size := C.size_t(unsafe.Sizeof(stats))
	flags, nowNs = instantOf(r.watch, flags, nowNs)
	status := C.ratecell_rules_stats(n.rules, flags, C.uint64_t(nowNs), &stats, size)
	runtime.KeepAlive(n)
	return statsOf(status, &stats)
}

func statsOf(status C.int32_t, stats *C.ratecell_stats) (Stats, error) {
	if status < 0 {
		return Stats{}, statusError(status)
	}
	return Stats{
		Slots:       uint64(stats.slots),
		Live:        uint64(stats.live),
		LiveError:   uint64(stats.live_error),
		Bytes:       uint64(stats.bytes),
		Evicted:     uint64(stats.evicted),
		Forgiven:    uint64(stats.forgiven),
		Shared:      uint64(stats.shared),
		DeniedFull:  uint64(stats.denied_full),
		AllowedFull: uint64(stats.allowed_full),
		Exhausted:   uint64(stats.exhausted),
		Leased:      uint64(stats.leased),
		Used:        uint64(stats.used),
		Passed:      uint64(stats.passed),
		GivenBack:   uint64(stats.given_back),
		Misses:      uint64(stats.misses),
		Waits:       uint64(stats.waits),
		Timeouts:    uint64(stats.timeouts),
		Operations:  uint64(stats.operations),
		SwapsLost:   uint64(stats.swaps_lost),
		Lag:         duration(stats.lag_ns),
		Healed:      uint64(stats.healed),
		BoardFull:   uint64(stats.board_full),
		Opened:      uint64(stats.opened),
		Local:       uint64(stats.local),
		Connected:   stats.connected != 0,
	}, nil
}

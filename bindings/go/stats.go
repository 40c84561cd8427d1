package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"runtime"
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
	status := C.ratecell_limiter_stats(n.limiter, flags, C.uint64_t(nowNs), &stats, size)
	runtime.KeepAlive(n)
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
	}, nil
}

//go:build cgo

package ratecell

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// table is the memory that a limiter and those of WithPolicy on it have together, outside the heap. A collection
// frees it, and the runtime, which does not see it, would start none on its account: closing does.
type table struct {
	bytes    uint64 // 0: not known
	limiters atomic.Int64
}

// leastClosed is the bytes of closed limiters below which no collection is worth its while.
const leastClosed = 16 << 20

// closedTables are those whose limiters have all been closed since a collection last began.
var closedTables struct {
	mutex      sync.Mutex
	bytes      uint64
	collecting bool
}

func (t *table) leave() {
	if t.limiters.Add(-1) > 0 {
		return
	}
	bytes := t.bytes
	if bytes == 0 {
		bytes = worthCollecting()
	}
	c := &closedTables
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.bytes += bytes
	if !c.collecting && c.bytes >= worthCollecting() {
		c.collecting = true
		go collect()
	}
}

// collect frees closed tables, until what was closed meanwhile is not worth another collection.
func collect() {
	c := &closedTables
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.bytes >= worthCollecting() {
		c.bytes = 0
		c.mutex.Unlock()
		runtime.GC()
		c.mutex.Lock()
	}
	c.collecting = false
}

// worthCollecting is the bytes for which a collection is started. It takes time by the size of the heap, and so more
// is left to wait where the heap is large.
func worthCollecting() uint64 {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Kind() == metrics.KindUint64 && heap[0].Value.Uint64()/4 > leastClosed {
		return heap[0].Value.Uint64() / 4
	}
	return leastClosed
}

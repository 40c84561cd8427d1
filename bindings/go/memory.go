//go:build cgo

package ratecell

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// table is the memory, outside Go's heap, that a limiter and those made of it by WithPolicy share. A garbage
// collection frees it, but the runtime does not see it and starts none because of it. So closing does.
type table struct {
	bytes    uint64       // 0: not known
	limiters atomic.Int64 // not closed
}

// leastClosed is the bytes of closed tables below which no collection is started.
const leastClosed = 16 << 20

// closedTables sums the tables whose limiters have all been closed since a collection last began.
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

// collect frees closed tables, and goes on while enough others were closed meanwhile.
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

// worthCollecting is the bytes of closed tables for which a collection is started. A collection takes the longer the
// larger the heap is, so the bound grows with it.
func worthCollecting() uint64 {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Kind() == metrics.KindUint64 && heap[0].Value.Uint64()/4 > leastClosed {
		return heap[0].Value.Uint64() / 4
	}
	return leastClosed
}

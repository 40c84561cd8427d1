//go:build cgo

package ratecell

import (
	"fmt"
	"sync"
)

var batches = sync.Pool{New: func() any { return new(batch) }}

// What a batch of a few thousand keys needs; more is not kept for the next.
const (
	keptKeys     = 1 << 17
	keptRequests = 1 << 12
)

// CheckBatch decides one unit of each key now, in their order, and writes each decision to the same place of
// decisions, which is as long as keys. The clock is read once, the C library is called once, and while one key
// is decided memory is fetched for those to come. A key may occur more than once.
//
// It allocates nothing a key. The error is of lengths that differ, or [ErrClosed]; then nothing was charged, and
// no decision allows.
func (l *Limiter) CheckBatch(keys []string, decisions []Decision) error {
	return l.checkBatch(keys, nil, nil, decisions)
}

// CheckBatchN is CheckBatch with the cost of each key, of which there are as many.
func (l *Limiter) CheckBatchN(keys []string, costs []uint32, decisions []Decision) error {
	if len(costs) != len(keys) {
		return refuse(decisions, fmt.Errorf("ratecell: a batch of %d keys has %d costs: expected as many", len(keys), len(costs)))
	}
	return l.checkBatch(keys, costs, nil, decisions)
}

// CheckBatchAt is CheckBatchN at nowNs. Without costs (nil) each key's is 1.
func (l *Limiter) CheckBatchAt(keys []string, costs []uint32, nowNs uint64, decisions []Decision) error {
	if costs != nil && len(costs) != len(keys) {
		return refuse(decisions, fmt.Errorf("ratecell: a batch of %d keys has %d costs: expected as many, or nil", len(keys), len(costs)))
	}
	return l.checkBatch(keys, costs, &nowNs, decisions)
}

func (l *Limiter) checkBatch(keys []string, costs []uint32, nowNs *uint64, decisions []Decision) error {
	if len(decisions) != len(keys) {
		return refuse(decisions, fmt.Errorf("ratecell: a batch of %d keys has room for %d decisions: expected as many", len(keys), len(decisions)))
	}
	n := l.native.Load()
	if n == nil {
		return refuse(decisions, ErrClosed)
	}
	b := batches.Get().(*batch)
	b.keys, b.lens = b.keys[:0], b.lens[:0]
	for _, key := range keys {
		b.add(key)
	}
	if err := b.decide(n, costs, nowNs); err != nil {
		return refuse(decisions, err)
	}
	b.tell(decisions)
	if cap(b.keys) <= keptKeys && cap(b.lens) <= keptRequests {
		batches.Put(b)
	}
	return nil
}

// refuse leaves no decision of an earlier batch to be taken for one of this.
func refuse(decisions []Decision, err error) error {
	for i := range decisions {
		decisions[i] = undecided()
	}
	return err
}

//go:build cgo

package ratecell

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// lines holds the callers of Wait who must sleep, in one line for each key. Only the first in a line asks for its
// units, so that nobody behind it takes them, and one goroutine wakes for them.
type lines struct {
	standing atomic.Int64 // callers in all lines: while it is 0, nobody needs the mutex
	mutex    sync.Mutex
	byKey    map[string]*list.List // lists of *place, none empty
}

// place is one caller's place in a line.
type place struct {
	key     string
	turn    chan struct{} // closed when all before it have left
	element *list.Element
}

// occupied tells whether anyone waits for a key.
func (l *lines) occupied(key string) bool {
	if l.standing.Load() == 0 {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.byKey[key] != nil
}

// join takes the last place in a key's line. Whoever joins must leave, whether or not its turn has come.
func (l *lines) join(key string) *place {
	p := &place{key: key, turn: make(chan struct{})}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	line := l.byKey[key]
	if line == nil {
		if l.byKey == nil {
			l.byKey = make(map[string]*list.List)
		}
		line = list.New()
		l.byKey[key] = line
		close(p.turn)
	}
	p.element = line.PushBack(p)
	l.standing.Add(1)
	return p
}

func (l *lines) leave(p *place) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	line := l.byKey[p.key]
	wasFirst := line.Front() == p.element
	line.Remove(p.element)
	if line.Len() == 0 {
		delete(l.byKey, p.key)
	} else if wasFirst {
		close(line.Front().Value.(*place).turn)
	}
	l.standing.Add(-1)
}

package main

import (
	"math"
	"math/rand"
	"testing"
	"time"

	ours "github.com/ratecell/ratecell/bindings/go/rate"
	peer "golang.org/x/time/rate"
)

// reservation is of either.
type reservation interface {
	OK() bool
	DelayFrom(time.Time) time.Duration
	CancelAt(time.Time)
}

// pair is a limiter of each, asked the same; what both say has to be the same.
type pair struct {
	t    *testing.T
	ours *ours.Limiter
	peer *peer.Limiter
}

func newPair(t *testing.T, limit float64, burst int) pair {
	return pair{t, ours.NewLimiter(ours.Limit(limit), burst), peer.NewLimiter(peer.Limit(limit), burst)}
}

func (p pair) allow(at time.Time, n int) {
	p.t.Helper()
	if a, b := p.ours.AllowN(at, n), p.peer.AllowN(at, n); a != b {
		p.t.Fatalf("AllowN(%v, %d): %v, expected %v", at, n, a, b)
	}
	p.tokens(at)
}

func (p pair) tokens(at time.Time) {
	p.t.Helper()
	if a, b := p.ours.TokensAt(at), p.peer.TokensAt(at); math.Abs(a-b) > 1e-4 {
		p.t.Fatalf("TokensAt(%v): %v, expected %v", at, a, b)
	}
}

func (p pair) reserve(at time.Time, n int) (a, b reservation) {
	p.t.Helper()
	a, b = p.ours.ReserveN(at, n), p.peer.ReserveN(at, n)
	// The peer's times are rounded to whole ns at each step, those here not.
	if difference := a.DelayFrom(at) - b.DelayFrom(at); a.OK() != b.OK() || difference < -50*time.Microsecond || difference > 50*time.Microsecond {
		p.t.Fatalf("ReserveN(%v, %d): %v %v, expected %v %v", at, n, a.OK(), a.DelayFrom(at), b.OK(), b.DelayFrom(at))
	}
	p.tokens(at)
	return a, b
}

func TestARateIsAsThatOfThePeer(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	steps, ahead, refused := 0, 0, 0
	for round := 0; round < 400; round++ {
		limit := []float64{0.3, 1, 10, 33, 1000, 1.0 / 3, 0.01}[random.Intn(7)]
		burst := 1 + random.Intn(8)
		p, now := newPair(t, limit, burst), time.Now()
		for step := 0; step < 60; step++ {
			// An odd part of a token: what is due in the very ns a float may or may not see.
			now = now.Add(time.Duration(random.ExpFloat64() / limit * 1e9))
			n := 1 + random.Intn(burst+1)
			steps++
			switch random.Intn(6) {
			case 0, 1, 2:
				p.allow(now, n)
			case 3:
				if a, _ := p.reserve(now, n); !a.OK() {
					refused++
				} else if a.DelayFrom(now) > 0 {
					ahead++
				}
			case 4:
				a, b := p.reserve(now, n)
				a.CancelAt(now)
				b.CancelAt(now)
				p.tokens(now)
			case 5:
				limit = []float64{0.3, 1, 10, 33, 1000}[random.Intn(5)]
				p.ours.SetLimitAt(now, ours.Limit(limit))
				p.peer.SetLimitAt(now, peer.Limit(limit))
				p.tokens(now)
			}
		}
	}
	if ahead < 1000 || refused < 100 {
		t.Errorf("%d reserved ahead and %d refused: expected more", ahead, refused)
	}
	t.Logf("%d steps, of which %d reserved ahead and %d were refused: all alike", steps, ahead, refused)
}

// The rows of the peer's own tests, at ten a second.
func TestThePeersOwnTables(t *testing.T) {
	now := time.Now()
	at := func(tenths int) time.Time { return now.Add(time.Duration(tenths) * 100 * time.Millisecond) }
	for _, table := range []struct {
		burst int
		rows  [][2]int // when, and how many
	}{
		{1, [][2]int{{0, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 1}, {2, 1}}},
		{3, [][2]int{{0, 2}, {0, 2}, {0, 1}, {0, 1}, {1, 4}, {2, 1}, {3, 1}, {4, 1}, {4, 1}, {4, 1}, {4, 1}, {9, 3}, {9, 0}}},
	} {
		p := newPair(t, 10, table.burst)
		for _, row := range table.rows {
			p.allow(at(row[0]), row[1])
		}
	}
	p := newPair(t, 10, 2)
	p.reserve(at(0), 2)
	p.reserve(at(0), 3) // above the burst
	a, b := p.reserve(at(0), 2)
	a.CancelAt(at(1))
	b.CancelAt(at(1))
	p.reserve(at(1), 2)
	p.reserve(at(3), 2)
}

// What the documentation says that differs.
func TestWhatDiffersFromThePeer(t *testing.T) {
	now := time.Now()
	later := now.Add(100 * time.Millisecond)
	p := newPair(t, 10, 3)
	p.allow(later, 1)
	p.ours.AllowN(now, 1)
	p.peer.AllowN(now, 1)
	if a, b := p.ours.AllowN(now, 1), p.peer.AllowN(now, 1); a || !b {
		t.Errorf("back in time: %v and %v", a, b)
	}
	p = newPair(t, 10, 3)
	p.ours.SetBurstAt(now, 5)
	p.peer.SetBurstAt(now, 5)
	if a, b := p.ours.TokensAt(now), p.peer.TokensAt(now); a != 5 || b != 3 {
		t.Errorf("a greater burst: %v and %v", a, b)
	}
	p = newPair(t, 10, 2)
	p.reserve(now, 2)
	a, b := p.reserve(now, 2)
	p.reserve(now, 1)
	a.CancelAt(now)
	b.CancelAt(now)
	if a, b := p.ours.TokensAt(now), p.peer.TokensAt(now); math.Abs(a+3) > 1e-4 || math.Abs(b+2) > 1e-4 {
		t.Errorf("an earlier one cancelled: %v and %v", a, b)
	}
}

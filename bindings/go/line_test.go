package ratecell

import "testing"

// turns are the places whose turn has come, by their numbers.
func turns(places []*place) (come []int) {
	for i, p := range places {
		select {
		case <-p.turn:
			come = append(come, i)
		default:
		}
	}
	return come
}

func TestALineIsServedInOrder(t *testing.T) {
	var l lines
	places := make([]*place, 6)
	for i := range places {
		places[i] = l.join("k")
	}
	other := l.join("other")
	if len(turns([]*place{other})) != 1 {
		t.Error("the first for another key waits")
	}
	// Each leaves: the first, whoever is behind it, and one whose turn has not come.
	left := 0
	for _, leaves := range []struct{ place, first int }{{0, 1}, {3, 1}, {1, 2}, {2, 4}, {5, 4}} {
		l.leave(places[leaves.place])
		left++
		if come := turns(places); come[len(come)-1] != leaves.first {
			t.Errorf("after %d has left the turns of %v have come, expected that of %d last", leaves.place, come, leaves.first)
		}
		if l.standing.Load() != int64(len(places)+1-left) || !l.occupied("k") || l.occupied("nobody's") {
			t.Errorf("%d stand in lines after %d of %d have left", l.standing.Load(), left, len(places)+1)
		}
	}
	l.leave(places[4])
	l.leave(other)
	if l.standing.Load() != 0 || len(l.byKey) != 0 || l.occupied("k") {
		t.Errorf("%d stand in %d lines after all have left", l.standing.Load(), len(l.byKey))
	}
}

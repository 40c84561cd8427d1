package ratecell

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// traces replays waiting.jsonl, whose format vectors/edges/waiting.md describes.
type traces struct {
	*testing.T
	at      string
	machine machine
	asked   map[uint64]uint64 // the byNs of the last ask, by its id
}

// TestWaitingVectors gives the machine every published event, and compares the actions that come out.
func TestWaitingVectors(t *testing.T) {
	const path = "../../vectors/edges/waiting.jsonl"
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no vectors: they are in ratecell's own repository: %v", err)
	}
	passed, failed := replayTraces(t, lines)
	t.Logf("%d rows of waiting passed, %d failed", len(passed), len(failed))
	for i, failure := range failed {
		if i < 20 {
			t.Error(failure)
		}
	}
	if len(passed) < 7000 {
		t.Errorf("%d rows, expected all", len(passed))
	}
	// A changed figure is seen.
	changed := strings.Replace(passed[len(passed)/2], ",[", ",[[\"give_back\",77],", 1)
	if _, failed = replayTraces(t, bytes.Replace(lines, []byte(passed[len(passed)/2]), []byte(changed), 1)); len(failed) == 0 {
		t.Error("a changed row passes")
	}
}

func replayTraces(t *testing.T, lines []byte) (passed, failed []string) {
	r := &traces{T: t}
	scanner := bufio.NewScanner(bytes.NewReader(lines))
	scanner.Buffer(nil, 1<<20)
	for number := 1; scanner.Scan(); number++ {
		r.at = fmt.Sprintf("waiting.jsonl:%d", number)
		line := scanner.Bytes()
		switch {
		case number == 1:
			if !bytes.Contains(line, []byte(`"ratecell_vectors":3,"kind":"waiting"`)) {
				t.Fatalf("%s: not a file of traces of version 3", r.at)
			}
		case line[0] == '{':
			r.section(line)
		default:
			if got := r.row(line); got != "" {
				failed = append(failed, fmt.Sprintf("%s: expected %s, got %s", r.at, line, got))
			} else {
				passed = append(passed, string(line))
			}
		}
	}
	r.machine.free()
	return passed, failed
}

func (r *traces) section(line []byte) {
	var section struct {
		Waiting *struct {
			Capacity *uint64
			Pace     []uint64
			Waiting  uint64 `json:"max_waiting"`
			Total    uint64 `json:"max_total"`
			MinNs    uint64 `json:"min_pause_ns"`
			MaxNs    uint64 `json:"max_pause_ns"`
			FullNs   uint64 `json:"full_pause_ns"`
		}
	}
	if err := json.Unmarshal(line, &section); err != nil || section.Waiting == nil {
		r.Fatalf("%s: no section: %v", r.at, err)
	}
	given := section.Waiting
	capacity := uint64(0)
	if given.Capacity != nil {
		capacity = *given.Capacity
	}
	r.machine.free()
	r.machine = machineOf(waitParameters{given.Waiting, given.Total, given.MinNs, given.MaxNs, given.FullNs, capacity, paceOf(given.Pace)})
	r.asked = make(map[uint64]uint64)
}

func paceOf(numbers []uint64) (pace [2]uint64) {
	copy(pace[:], numbers)
	return pace
}

// row is empty where the event is answered as stated, otherwise what came instead.
func (r *traces) row(line []byte) string {
	var columns []json.RawMessage
	r.read(line, &columns)
	var name string
	r.read(columns[0], &name)
	event, arguments := waitEvent{}, columns[2:len(columns)-2]
	r.read(columns[1], &event.nowNs)
	number := func(i int) uint64 {
		value := noInstant
		r.read(arguments[i], &value)
		return value
	}
	switch name {
	case "arrive":
		event.kind, event.id, event.cost, event.byNs = waitArrive, number(0), uint32(number(2)), number(3)
		r.read(arguments[1], &event.key)
	case "answer":
		event.kind, event.id = waitAnswer, number(0)
		event.byNs = r.asked[event.id]
		event.decision = answerOf(number(1), number(2), number(3), event.byNs, event.nowNs)
	case "timer":
		event.kind = waitTimer
	case "cancel":
		event.kind, event.id = waitCancel, number(0)
	case "changed":
		event.kind = waitChanged
		r.read(arguments[0], &event.key)
	case "policy":
		var pace []uint64
		r.read(arguments[1], &pace)
		capacity := number(0)
		if capacity == noInstant {
			capacity = 0
		}
		event.kind = waitPolicy
		policy := waitParameters{capacity: capacity, pace: paceOf(pace)}.toC()
		event.policy = &policy
	case "close":
		event.kind = waitClose
	default:
		r.Fatalf("%s: no event: %s", r.at, line)
	}
	actions, err := r.machine.event(event, nil)
	if err != nil {
		return err.Error()
	}
	got, _ := json.Marshal(r.written(actions))
	next, _ := json.Marshal(instant(r.machine.nextNs))
	// The traces have the greatest number for an instant, too, which is as good as none.
	stated := bytes.ReplaceAll(columns[len(columns)-2], []byte("18446744073709551615"), []byte("null"))
	if !bytes.Equal(got, stated) || !bytes.Equal(next, columns[len(columns)-1]) {
		return fmt.Sprintf("%s, next %s", got, next)
	}
	return ""
}

func (r *traces) read(value []byte, into any) {
	if err := json.Unmarshal(value, into); err != nil {
		r.Fatalf("%s: %v", r.at, err)
	}
}

func (r *traces) written(actions []waitAction) []any {
	outcomes := []string{"go", "late", "never", "clock_range", "busy", "cancelled", "closed"}
	written := []any{}
	for _, action := range actions {
		switch action.kind {
		case waitAsk:
			r.asked[action.id] = action.byNs
			written = append(written, []any{"ask", action.id, instant(action.byNs)})
		case waitFinish:
			written = append(written, []any{"finish", action.id, outcomes[action.outcome], instant(action.atNs)})
		case waitGiveBack:
			written = append(written, []any{"give_back", action.id})
		}
	}
	return written
}

// instant is null for none.
func instant(ns uint64) *uint64 {
	if ns == noInstant {
		return nil
	}
	return &ns
}

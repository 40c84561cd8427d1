package ratecell

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A policy of the vectors of fields.
type labelledRow struct {
	Name, Unit, Partition *string
	Layers                []struct {
		Text     string
		Limit    uint64
		PeriodNs uint64 `json:"period_ns"`
		Capacity uint64
	}
}

type decisionRow struct {
	Outcome          string
	Limit, Remaining uint64
	RetryNs          *uint64 `json:"retry_ns"`
	ResetNs          uint64  `json:"reset_ns"`
	NextNs           *uint64 `json:"next_ns"`
	DelayNs          uint64  `json:"delay_ns"`
	Layer            int
}

// A line of fields.jsonl, fields_several.jsonl or fields_construct.jsonl.
type fieldsLine struct {
	Vectors   int `json:"ratecell_vectors"`
	Section   string
	Policies  []labelledRow
	Decision  *decisionRow
	Decisions []decisionRow
	Style     string
	NowUnixNs uint64 `json:"now_unix_ns"`
	Fields    [][2]string
	Policy    *labelledRow
	Error     *string
}

// The published fields, whose format vectors/edges/fields.md describes: every row that this binding can say.
func TestFieldsVectors(t *testing.T) {
	const dir = "../../vectors/edges"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s: the vectors are in ratecell's own repository", err)
	}
	for _, file := range []string{"fields.jsonl", "fields_several.jsonl", "fields_construct.jsonl"} {
		r := &fieldsReplay{replay: replay{t: t}}
		r.file(filepath.Join(dir, file))
		t.Logf("%s: %d passed, %d failed; %d that Go cannot say", file, r.passed, r.failed, r.unsaid)
		if r.failed > 0 || r.passed == 0 {
			t.Fail()
		}
	}
}

type fieldsReplay struct {
	replay
	policies []labelledRow
	limiters []*Limiter // nil where the layers are no policy's
}

func (r *fieldsReplay) file(path string) {
	r.lines(path, func(number int, line []byte) {
		var said fieldsLine
		if err := json.Unmarshal(line, &said); err != nil {
			r.t.Fatalf("%s: %v", r.at, err)
		}
		switch {
		case number == 1:
			if said.Vectors != 3 {
				r.t.Fatalf("%s: not a file of vectors of version 3", r.at)
			}
		case said.Section != "":
			r.section(&said)
		case said.Policy != nil:
			r.construct(&said, line)
		default:
			if said.Decision != nil {
				said.Decisions = []decisionRow{*said.Decision}
			}
			r.response(&said, line)
		}
	})
}

func (r *fieldsReplay) section(line *fieldsLine) {
	for _, limiter := range r.limiters {
		limiter.Close()
	}
	r.policies, r.limiters = line.Policies, nil
	for i := range line.Policies {
		limiter := layersOf(&line.Policies[i])
		if limiter == nil {
			if strings.HasPrefix(line.Section, "decided/") || strings.HasPrefix(line.Section, "several/") {
				r.t.Fatalf("%s: the layers are not those of their policy", r.at)
			}
			r.limiters = nil
			return
		}
		r.limiters = append(r.limiters, limiter)
	}
}

// layersOf is a limiter that has these layers, or nil: some have numbers that are not those of their texts.
func layersOf(policy *labelledRow) *Limiter {
	var texts []string
	for _, layer := range policy.Layers {
		texts = append(texts, layer.Text)
		own, err := New(layer.Text, MaxKeys(1))
		if err != nil {
			return nil
		}
		defer own.Close()
		rate, err := New(fmt.Sprintf("%d/%dns", layer.Limit, layer.PeriodNs), MaxKeys(1))
		if err != nil {
			return nil
		}
		defer rate.Close()
		if own.Peek("").Limit != layer.Capacity || !strings.Contains(" "+layer.Text+" ", " "+rate.Policy()+" ") {
			return nil
		}
	}
	text := strings.Join(texts, " & ")
	limiter, err := New(text, MaxKeys(1))
	if err != nil || limiter.Policy() != text {
		return nil
	}
	return limiter
}

func (r *fieldsReplay) response(line *fieldsLine, text []byte) {
	style, err := ParseStyle(line.Style)
	if err != nil || len(line.Decisions) != len(r.policies) {
		r.t.Fatalf("%s: %v, %d decisions", r.at, err, len(line.Decisions))
	}
	if r.limiters == nil {
		r.unsaid++
		return
	}
	var answers []Answer
	for i := range line.Decisions {
		answer := r.policies[i].answer(r.t)
		decision, ok := line.Decisions[i].decision(r.t)
		if !ok || strings.HasPrefix(line.Style, "draft") && derived(&r.policies[i], &line.Decisions[i]) {
			r.unsaid++
			return
		}
		answer.Limiter, answer.Decision = r.limiters[i], decision
		answers = append(answers, answer)
	}
	want := http.Header{}
	for _, field := range line.Fields {
		want.Add(field[0], field[1])
	}
	got := http.Header{}
	now := time.Unix(int64(line.NowUnixNs/1e9), int64(line.NowUnixNs%1e9))
	err = AddFields(got, style, now, answers...)
	r.stated(err == nil && reflect.DeepEqual(got, want), text, fmt.Sprint(got, err))
}

func (p *labelledRow) answer(t *testing.T) (a Answer) {
	if p.Name != nil {
		a.Name = *p.Name
	}
	if p.Unit != nil {
		a.Unit = *p.Unit
	}
	if p.Partition != nil {
		partition, err := hex.DecodeString(*p.Partition)
		if err != nil {
			t.Fatal(err)
		}
		a.Partition = append([]byte{}, partition...)
	}
	return a
}

// derived is whether a row has no time to one more unit where the C library knows it, by the policy: such rows are of
// writers that are given numbers alone.
func derived(policy *labelledRow, row *decisionRow) bool {
	return row.NextNs == nil && len(policy.Layers) == 1 && !strings.HasPrefix(policy.Layers[0].Text, "sliding") &&
		row.Outcome != "clock_range" && row.Remaining < row.Limit
}

// decision is the decision, if a [time.Duration] can tell its times.
func (row *decisionRow) decision(t *testing.T) (d Decision, ok bool) {
	for outcome := Allowed; outcome <= ClockRange; outcome++ {
		if strings.ReplaceAll(outcome.String(), " ", "_") == row.Outcome {
			d.Outcome = outcome
		}
	}
	if d.Outcome == Closed {
		t.Fatalf("no outcome: %s", row.Outcome)
	}
	const greatest = uint64(InfDuration) - 1
	if row.ResetNs > greatest || row.NextNs != nil && *row.NextNs > greatest || row.DelayNs > greatest || row.RetryNs != nil && *row.RetryNs > greatest {
		return d, false
	}
	d.Allowed = d.Outcome == Allowed
	d.Limit, d.Remaining, d.Layer = row.Limit, row.Remaining, row.Layer
	d.ResetAfter, d.Delay, d.RetryAfter = time.Duration(row.ResetNs), time.Duration(row.DelayNs), InfDuration
	if row.NextNs != nil {
		d.Next = time.Duration(*row.NextNs)
	}
	if row.RetryNs != nil {
		d.RetryAfter = time.Duration(*row.RetryNs)
	}
	return d, true
}

func (r *fieldsReplay) construct(line *fieldsLine, text []byte) {
	if p := line.Policy; p.Name != nil && *p.Name == "" || p.Unit != nil && *p.Unit == "" {
		r.unsaid++ // in Go they are none
		return
	}
	limiter := newTest(r.t, "10/s", MaxKeys(1))
	answer := line.Policy.answer(r.t)
	answer.Limiter, answer.Decision = limiter, limiter.Peek("")
	err := AddFields(http.Header{}, StyleDraft11, noon, answer)
	var refused *Error
	if line.Error == nil {
		r.stated(err == nil, text, err)
	} else {
		r.stated(errors.As(err, &refused) && refused.Status == StatusName, text, err)
	}
}

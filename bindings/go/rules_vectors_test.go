package ratecell

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// ruledRow is a row of rules_decide.jsonl, as a binding can say it: the name that C gives is that of the rule which
// refused, otherwise of the one shown.
type ruledRow struct {
	Code             int
	Rule             string
	RetryNs          *uint64
	DelayNs          uint64
	Limit, Remaining uint64
	ResetNs          uint64
	Shadows          []Shadow
}

// By the codes of the vectors.
var ruledOutcomes = [...]Outcome{Denied, Allowed, Never, ClockRange}

// The published answers of rules, which vectors/rules/rules.md describes: every row through this binding.
func TestRulesVectors(t *testing.T) {
	path := filepath.Join("../../vectors/rules", "rules_decide.jsonl")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%v: the vectors are in ratecell's own repository", err)
	}
	r := &replay{t: t}
	var rules *Rules
	r.lines(path, func(number int, line []byte) {
		if line[0] == '[' {
			r.rulesRow(rules, line)
			return
		}
		var said struct {
			Vectors int `json:"ratecell_vectors"`
			Rules   string
		}
		if err := json.Unmarshal(line, &said); err != nil || number == 1 && said.Vectors != 3 {
			t.Fatalf("%s: %s: %v", r.at, line, err)
		}
		if number > 1 {
			rules = newRules(t, said.Rules, MaxKeys(vectorKeys))
		}
	})
	t.Logf("rules_decide.jsonl: %d passed, %d failed", r.passed, r.failed)
	if r.failed > 0 || r.passed == 0 {
		t.Fail()
	}
}

func (r *replay) rulesRow(rules *Rules, line []byte) {
	var row []json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil || rules == nil || len(row) != 12 && len(row) != 4 {
		r.t.Fatalf("%s: not a row of a section: %s, %v", r.at, line, err)
	}
	read := func(at int, into any) {
		if err := json.Unmarshal(row[at], into); err != nil {
			r.t.Fatalf("%s: column %d: %v", r.at, at, err)
		}
	}
	var nowNs uint64
	var attributes Attributes
	read(1, &nowNs)
	read(2, &attributes)
	d := rules.DecideAt(attributes, nowNs)
	if len(row) == 4 {
		r.stated(d.Outcome == UnclearPath && !d.Allowed && d.Rule == "" && len(d.claims) == 0, line, d)
		return
	}
	var want ruledRow
	var rule, shown *string
	var shadows [][2]any
	for at, into := range []any{&want.Code, &rule, &want.RetryNs, &want.DelayNs, &shown, &want.Limit, &want.Remaining, &want.ResetNs, &shadows} {
		read(at+3, into)
	}
	for _, name := range []*string{shown, rule} {
		if name != nil {
			want.Rule = *name
		}
	}
	for _, shadow := range shadows {
		want.Shadows = append(want.Shadows, Shadow{Rule: fmt.Sprint(shadow[0]), Outcome: ruledOutcomes[int(shadow[1].(float64))]})
	}
	got := ruledRow{want.Code, d.Rule, want.RetryNs, uint64(d.Delay), d.Limit, d.Remaining, uint64(d.ResetAfter), d.Shadows}
	isRetry := want.RetryNs == nil && d.RetryAfter == InfDuration || want.RetryNs != nil && uint64(d.RetryAfter) == *want.RetryNs
	isOutcome := d.Outcome == ruledOutcomes[want.Code] && d.Allowed == (d.Outcome == Allowed)
	r.stated(isRetry && isOutcome && reflect.DeepEqual(got, want), line, fmt.Sprintf("%+v", d))
}

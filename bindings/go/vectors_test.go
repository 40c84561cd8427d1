package ratecell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// More keys than any section has: a limiter that evicts is not the one that the vectors describe.
const vectorKeys = 4096

// What a JSON line of the vectors holds that is no request.
type vectorLine struct {
	Vectors int `json:"ratecell_vectors"`
	Kind    string
	Section string
	Epoch   *time.Time
	Policy  json.RawMessage
	Error   string
	// Of the grammar: what is read, and how it is printed or refused.
	Text      string
	Canonical string
	Column    int
	Message   string
	Resolved  *struct {
		Capacity uint64
		MaxNowNs uint64 `json:"max_now_ns"`
		Layers   []struct {
			Capacity uint64
			MaxNowNs uint64 `json:"max_now_ns"`
		}
	}
}

// options are those of the limiter of a section, or of a policy that is stated.
func (said *vectorLine) options() []Option {
	options := []Option{MaxKeys(vectorKeys)}
	if said.Epoch != nil {
		options = append(options, Epoch(*said.Epoch))
	}
	return options
}

type replay struct {
	t              *testing.T
	at             string // file:line
	passed, failed int
	unsaid         int              // policies that text cannot say
	zoned          int              // requests that name their zone
	zones          map[string]*Zone // of the section
}

// The published decisions, whose format vectors/README.md describes: every row through this binding.
func TestVectors(t *testing.T) {
	const dir = "../../vectors"
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	callers, err := filepath.Glob(filepath.Join(dir, "callers", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, callers...)
	if len(files) == 0 {
		t.Skipf("%s has no vectors: they are in ratecell's own repository", dir)
	}
	r := &replay{t: t}
	for _, file := range files {
		r.file(file)
	}
	t.Logf("%d of them policies that text cannot say", r.unsaid)
	t.Logf("%d of them requests that name their zone", r.zoned)
	t.Logf("%d passed, %d failed", r.passed, r.failed)
	if r.failed > 0 || r.passed == 0 {
		t.Fail()
	}
}

func (r *replay) stated(holds bool, line []byte, got any) {
	if holds {
		r.passed++
		return
	}
	r.failed++
	if r.failed <= 20 {
		r.t.Errorf("%s: expected %s, got %v", r.at, line, got)
	}
}

// lines reads a file of vectors, whose lines count from 1.
func (r *replay) lines(path string, each func(number int, line []byte)) {
	file, err := os.Open(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for number := 1; scanner.Scan(); number++ {
		r.at = fmt.Sprintf("%s:%d", filepath.Base(path), number)
		each(number, scanner.Bytes())
	}
	if err := scanner.Err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replay) file(path string) {
	var limiter *Limiter
	isGrammar := false
	r.lines(path, func(number int, line []byte) {
		if line[0] == '[' {
			r.request(limiter, line)
			return
		}
		var said vectorLine
		if err := json.Unmarshal(line, &said); err != nil {
			r.t.Fatalf("%s: %v", r.at, err)
		}
		switch {
		case number == 1:
			isGrammar = said.Kind == "grammar"
			if isDecisions := said.Vectors == 1 || said.Vectors == 2; isGrammar && said.Vectors != 3 || !isGrammar && !isDecisions {
				r.t.Fatalf("%s: not a file of vectors of a version that is known", r.at)
			}
		case isGrammar:
			r.grammar(&said, line)
		case said.Section != "":
			r.end(limiter)
			r.zones = map[string]*Zone{}
			var err error
			if limiter, err = New(policyText(r.t, said.Policy), said.options()...); err != nil {
				r.t.Fatalf("%s: %v", r.at, err)
			}
			if said.Resolved != nil && !resolvedSo(limiter, &said) {
				r.t.Errorf("%s: the policy does not resolve as stated", r.at)
			}
		default:
			r.construct(&said, line)
		}
	})
	r.end(limiter)
}

// end checks that no key of the section was without room.
func (r *replay) end(limiter *Limiter) {
	if limiter == nil {
		return
	}
	stats, err := limiter.StatsAt(0)
	if err != nil || stats.Evicted+stats.Shared+stats.DeniedFull+stats.AllowedFull > 0 {
		r.t.Fatalf("%s: the section that ends here had keys without room: %+v, %v", r.at, stats, err)
	}
	limiter.Close()
}

func (r *replay) request(limiter *Limiter, line []byte) {
	var row []json.RawMessage
	err := json.Unmarshal(line, &row)
	var zone *Zone
	if err == nil && len(row) > 2 && string(row[0]) == `"in"` && limiter != nil {
		zone, err = r.zone(limiter, row[1])
		row = row[2:]
		r.zoned++
	}
	if err != nil || limiter == nil || len(row) < 7 || len(row) > 8 {
		r.t.Fatalf("%s: not a row of a section: %s, %v", r.at, line, err)
	}
	var key string
	var nowNs, remaining, resetNs, delayNs uint64
	var cost uint32
	var code int
	var retryNs *uint64
	columns := []any{&nowNs, &key, &cost, &code, &remaining, &retryNs, &resetNs, &delayNs}
	for i, value := range row {
		if err := json.Unmarshal(value, columns[i]); err != nil {
			r.t.Fatalf("%s: column %d: %v", r.at, i, err)
		}
	}
	outcomes := []Outcome{Denied, Allowed, Never, ClockRange}
	var got Decision
	if zone == nil {
		got = limiter.CheckAt(key, cost, nowNs)
	} else {
		got = limiter.Decide(NewRequest(key).Cost(cost).At(nowNs).Zone(zone))
	}
	want := Decision{
		Allowed:    code == 1,
		Outcome:    outcomes[code],
		Limit:      got.Limit, // the vectors have no column for it,
		Layer:      got.Layer, // nor for it
		Remaining:  remaining,
		RetryAfter: InfDuration,
		ResetAfter: r.time(resetNs),
		Delay:      r.time(delayNs),
	}
	if retryNs != nil {
		want.RetryAfter = r.time(*retryNs)
	}
	r.stated(got == want, line, got)
}

// zone is that of this name in JSON, made once for a section.
func (r *replay) zone(limiter *Limiter, quoted []byte) (*Zone, error) {
	var name string
	if err := json.Unmarshal(quoted, &name); err != nil {
		return nil, err
	}
	zone := r.zones[name]
	if zone == nil {
		var err error
		if zone, err = limiter.Zone(name); err != nil {
			return nil, err
		}
		r.zones[name] = zone
	}
	return zone, nil
}

// time is a duration of the vectors, none of which is for ever.
func (r *replay) time(ns uint64) time.Duration {
	if ns >= uint64(InfDuration) {
		return InfDuration - 1
	}
	return time.Duration(ns)
}

var vectorErrors = map[string]Status{
	"zero_limit":        StatusPolicyZeroLimit,
	"zero_period":       StatusPolicyZeroPeriod,
	"zero_capacity":     StatusPolicyZeroCapacity,
	"bad_type":          StatusPolicyMissingParameter,
	"bad_offset":        StatusPolicyBadOffset,
	"range":             StatusPolicyRange,
	"precision":         StatusPolicyPrecision,
	"unknown_algorithm": StatusPolicyUnknownAlgorithm,
	"bad_layers":        StatusPolicyBadLayers,
	"bad_zone":          StatusPolicyBadZone,
	"syntax":            StatusPolicySyntax,
}

// grammar is a line of grammar.jsonl: a text, with the policy that it is read as or with its error.
func (r *replay) grammar(said *vectorLine, line []byte) {
	limiter, err := New(said.Text, MaxKeys(1))
	if said.Error != "" {
		refused, ok := err.(*Error)
		text := fmt.Sprintf("%s at column %d: %s", said.Error, said.Column, said.Message)
		r.stated(ok && refused.Status == vectorErrors[said.Error] && refused.Text == text, line, err)
		return
	}
	if err != nil {
		r.stated(false, line, err)
		return
	}
	defer limiter.Close()
	meant, err := New(policyText(r.t, said.Policy), MaxKeys(1))
	if err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	defer meant.Close()
	got := limiter.Policy()
	r.stated(got == said.Canonical && got == meant.Policy(), line, got)
}

// construct is a line of construct.jsonl: a policy, with its error or with how it resolves.
func (r *replay) construct(said *vectorLine, line []byte) {
	policy := policyText(r.t, said.Policy)
	limiter, err := New(policy, said.options()...)
	if said.Error == "" {
		r.stated(err == nil && resolvedSo(limiter, said), line, err)
		return
	}
	want := vectorErrors[said.Error]
	if policy == "" {
		// No layers, and a layer that is layers, are no text at all, and so an error of syntax.
		r.unsaid++
		want = StatusPolicySyntax
	}
	refused, ok := err.(*Error)
	r.stated(ok && refused.Status == want && limiter == nil, line, err)
}

// resolvedSo is whether a policy resolved as stated, as far as decisions tell: its capacity, and the last
// instant it can tell.
func resolvedSo(limiter *Limiter, said *vectorLine) bool {
	capacity, last := said.Resolved.Capacity, said.Resolved.MaxNowNs
	for i, layer := range said.Resolved.Layers {
		if i == 0 || layer.Capacity < capacity {
			capacity = layer.Capacity
		}
		if i == 0 || layer.MaxNowNs < last {
			last = layer.MaxNowNs
		}
	}
	peek := NewRequest("resolved").Cost(0)
	if strings.Contains(limiter.Policy(), "tz=caller") {
		zone, err := limiter.Zone("UTC")
		if err != nil {
			return false
		}
		peek = peek.Zone(zone)
	}
	d := limiter.Decide(peek.At(last))
	return d.Allowed && d.Remaining == capacity &&
		(last+1 == 0 || limiter.Decide(peek.At(last+1)).Outcome == ClockRange)
}

// policyText is a policy in JSON as text, by its fields' names: `algorithm LIMIT/PERIODns option=value`.
func policyText(t *testing.T, policy json.RawMessage) string {
	var layers struct{ Layers []json.RawMessage }
	if err := json.Unmarshal(policy, &layers); err != nil {
		t.Fatalf("%s: %v", policy, err)
	}
	if layers.Layers != nil {
		var texts []string
		for _, layer := range layers.Layers {
			if text := policyText(t, layer); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, " & ")
	}
	fields := json.NewDecoder(strings.NewReader(string(policy)))
	fields.UseNumber()
	var values map[string]any
	if err := fields.Decode(&values); err != nil {
		t.Fatalf("%s: %v", policy, err)
	}
	var algorithm, limit, period, options string
	for name, value := range values {
		switch name {
		case "algorithm":
			algorithm = fmt.Sprint(value)
		case "limit", "refill", "leak":
			limit = fmt.Sprint(value)
		case "period_ns", "interval_ns", "window_ns":
			period = fmt.Sprintf("/%vns", value)
		case "period":
			period = fmt.Sprintf("/%v", value)
		case "day":
			if text, isText := value.(string); isText {
				value = fmt.Sprintf("%q", text) // it stays text
			}
			options += fmt.Sprintf(" day=%v", value)
		default:
			if plain := strings.TrimSuffix(name, "_ns"); plain != name {
				options += fmt.Sprintf(" %s=%vns", plain, value)
			} else {
				options += fmt.Sprintf(" %s=%v", name, value)
			}
		}
	}
	return algorithm + " " + limit + period + options
}

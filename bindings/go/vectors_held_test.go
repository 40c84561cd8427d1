package ratecell

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// heldReplay is a section of the vectors of reservations, permits and changes. What was given back is counted for
// neighbouring keys together, and in the vectors for each apart: so each key has a limiter of its own, and a change is made to
// all of them. The key "resolved" has seen every change, and nothing more.
type heldReplay struct {
	replay
	said     *vectorLine
	changes  []changeVector // that were made
	limiters map[string]*Limiter
	held     map[uint64]heldVector
}

type changeVector struct {
	policy string
	nowNs  uint64
}

// heldVector is a reservation as bytes: the rows may release and renew one more than once, as copies of it can be.
type heldVector struct {
	limiter *Limiter
	bytes   []byte
}

// The published reservations, permits and changes, which vectors/held describes: every row through this binding.
func TestHeldVectors(t *testing.T) {
	const dir = "../../vectors/held"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is not here: it is in ratecell's own repository", dir)
	}
	for _, name := range []string{"reserve.jsonl", "concurrency.jsonl", "change.jsonl", "change_refused.jsonl"} {
		r := &heldReplay{replay: replay{t: t}}
		r.file(filepath.Join(dir, name))
		t.Logf("%s: %d passed, %d failed", name, r.passed, r.failed)
		t.Logf("%s: %d of policies that text cannot say", name, r.unsaid)
		if r.failed > 0 || r.passed == 0 {
			t.Fail()
		}
	}
}

func (r *heldReplay) file(path string) {
	r.lines(path, func(number int, line []byte) {
		if line[0] == '[' {
			r.row(line)
			return
		}
		var said vectorLine
		if err := json.Unmarshal(line, &said); err != nil {
			r.t.Fatalf("%s: %v", r.at, err)
		}
		r.end()
		if number > 1 {
			r.begin(&said)
		}
	})
	r.end()
}

func (r *heldReplay) begin(said *vectorLine) {
	r.said, r.changes, r.limiters, r.held = said, nil, make(map[string]*Limiter), make(map[uint64]heldVector)
	if !resolvedSo(r.limiter("resolved"), said) {
		r.t.Errorf("%s: the policy does not resolve as stated", r.at)
	}
}

func (r *heldReplay) end() {
	for _, limiter := range r.limiters {
		limiter.Close()
	}
}

func (r *heldReplay) limiter(key string) *Limiter {
	if limiter := r.limiters[key]; limiter != nil {
		return limiter
	}
	limiter, err := New(policyText(r.t, r.said.Policy), append(r.said.options(), MaxKeys(1))...)
	if err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	for _, change := range r.changes {
		if err := limiter.ChangeAt(change.policy, change.nowNs); err != nil {
			r.t.Fatalf("%s: a change that was made is refused of the same policy: %v", r.at, err)
		}
	}
	r.limiters[key] = limiter
	return limiter
}

// change makes the change of a row in every limiter.
func (r *heldReplay) change(row []json.RawMessage, line []byte) {
	var nowNs uint64
	var policy struct {
		Algorithm string
		Layers    []json.RawMessage
	}
	var wanted vectorLine
	r.columns(row, 1, &nowNs, &policy, &wanted)
	if policy.Algorithm == "multi" && len(policy.Layers) < 2 {
		r.unsaid++
		return
	}
	text := policyText(r.t, row[2])
	holds, got := true, error(nil)
	for _, limiter := range r.limiters {
		got = limiter.ChangeAt(text, nowNs)
		holds = holds && statusOf(got) == changeStatuses[wanted.Error]
	}
	if got == nil {
		r.changes = append(r.changes, changeVector{text, nowNs})
		holds = holds && wanted.Resolved != nil && resolvedSo(r.limiters["resolved"], &wanted)
	}
	r.stated(holds, line, got)
}

// changeStatuses are the statuses of a change, by the errors of the vectors.
var changeStatuses = map[string]Status{
	"":                  0,
	"different_table":   StatusChange,
	"clock_range":       StatusChange,
	"range":             StatusPolicyRange,
	"precision":         StatusPolicyPrecision,
	"zero_limit":        StatusPolicyZeroLimit,
	"zero_period":       StatusPolicyZeroPeriod,
	"bad_zone":          StatusPolicyBadZone,
	"unknown_algorithm": StatusPolicyUnknownAlgorithm,
}

// statusOf is the status of an error of ratecell's; 0 of nil.
func statusOf(err error) Status {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	if err != nil {
		return -1
	}
	return 0
}

// columns reads the columns from `at` on into values.
func (r *heldReplay) columns(row []json.RawMessage, at int, values ...any) {
	for i, value := range values {
		if at+i >= len(row) {
			r.t.Fatalf("%s: no column %d", r.at, at+i)
		}
		if err := json.Unmarshal(row[at+i], value); err != nil {
			r.t.Fatalf("%s: column %d: %v", r.at, at+i, err)
		}
	}
}

func (r *heldReplay) row(line []byte) {
	var row []json.RawMessage
	var name, key string
	var number, nowNs uint64
	var cost uint32
	if err := json.Unmarshal(line, &row); err != nil || r.said == nil || len(row) < 3 {
		r.t.Fatalf("%s: not a row of a section: %s, %v", r.at, line, err)
	}
	if row[0][0] != '"' {
		r.columns(row, 0, &nowNs, &key, &cost)
		r.stated(r.is(row, 3, true, r.limiter(key).CheckAt(key, cost, nowNs)), line, "another")
		return
	}
	r.columns(row, 0, &name)
	switch name {
	case "reserve", "acquire":
		r.columns(row, 1, &number, &nowNs, &key, &cost)
		limiter := r.limiter(key)
		d, reservation, err := limiter.ReserveRequest(NewRequest(key).Cost(cost).At(nowNs))
		if err != nil || d.Allowed != (reservation != nil) {
			r.t.Fatalf("%s: %v, %v", r.at, d, err)
		}
		if reservation != nil {
			r.keep(number, limiter, reservation)
		}
		r.stated(r.is(row, 5, true, d), line, d)
	case "settle":
		r.columns(row, 1, &number, &nowNs, &cost)
		_, reservation := r.copy(number)
		d := reservation.SettleAt(cost, nowNs)
		r.stated(r.is(row, 4, false, d), line, d)
	case "release":
		r.columns(row, 1, &number, &nowNs)
		_, reservation := r.copy(number)
		d := reservation.ReleaseAt(nowNs)
		var back uint32
		r.columns(row, 7, &back)
		r.stated(r.is(row, 3, false, d) && d.GivenBack == back, line, d)
	case "renew":
		r.columns(row, 1, &number, &nowNs)
		limiter, reservation := r.copy(number)
		d := reservation.RenewAt(nowNs)
		r.keep(number, limiter, reservation)
		r.stated(r.is(row, 3, false, d), line, d)
	case "charge":
		r.columns(row, 1, &nowNs, &key, &cost)
		d := r.limiter(key).Decide(NewRequest(key).Cost(cost).At(nowNs).Charge())
		r.stated(r.is(row, 4, true, d), line, d)
	case "change":
		r.change(row, line)
	case "forget":
		r.columns(row, 1, &nowNs, &key)
		r.limiter(key).Forget(key)
		r.stated(true, line, nil)
	default:
		r.t.Fatalf("%s: no call %s", r.at, name)
	}
}

func (r *heldReplay) keep(number uint64, limiter *Limiter, reservation *Reservation) {
	bytes, err := reservation.MarshalBinary()
	if err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	r.held[number] = heldVector{limiter, bytes}
}

func (r *heldReplay) copy(number uint64) (*Limiter, *Reservation) {
	held, reservation := r.held[number], new(Reservation)
	if err := reservation.UnmarshalBinary(held.bytes); err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	held.limiter.Resume(reservation)
	return held.limiter, reservation
}

// is reports whether a decision is what the columns from `at` on state: code, remaining, retry and reset, and a delay if
// there may be one.
func (r *heldReplay) is(row []json.RawMessage, at int, delayed bool, got Decision) bool {
	var code int
	var remaining, resetNs, delayNs uint64
	var retryNs *uint64
	r.columns(row, at, &code, &remaining, &retryNs, &resetNs)
	if delayed && len(row) > at+4 {
		r.columns(row, at+4, &delayNs)
	}
	want := Decision{
		Allowed:    code == 1,
		Outcome:    []Outcome{Denied, Allowed, Never, ClockRange}[code],
		Limit:      got.Limit,
		Layer:      got.Layer,
		Remaining:  remaining,
		RetryAfter: InfDuration,
		ResetAfter: r.time(resetNs),
		Delay:      r.time(delayNs),
		GivenBack:  got.GivenBack,
	}
	if retryNs != nil {
		want.RetryAfter = r.time(*retryNs)
	}
	if !delayed {
		want.Delay = got.Delay
	}
	return got == want
}

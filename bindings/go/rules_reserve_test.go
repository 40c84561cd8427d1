package ratecell

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const rulesThatHold = `
ratecell_rules = 1
attributes = ["user", "tokens"]

[[rule]]
name = "at-once"
key = ["user"]
limit = "in_flight 2 hold=1w"

[[rule]]
name = "tokens"
key = ["user"]
limit = "fixed_window 1000/1w"
cost = { from = "tokens", default = 100 }
`

// left is how many tokens ann has, and how many requests at once.
func left(t *testing.T, rules *Rules) (uint64, int) {
	var held []*RulesReservation
	tokens := uint64(0)
	for {
		d, r := rules.ReserveAt(Attributes{"user": "ann", "tokens": "0"}, 0)
		if r == nil {
			break
		}
		held = append(held, r)
		tokens = d.Remaining
	}
	for _, r := range held {
		r.ReleaseAt(0)
	}
	d, r := rules.ReserveAt(Attributes{"user": "ann", "tokens": "1"}, 0)
	if r == nil {
		t.Fatalf("%+v: expected room for one", d)
	}
	for _, claim := range d.claims {
		tokens = uint64(claim.decision.remaining) + 1
	}
	r.CancelAt(0)
	r.ReleaseAt(0)
	return tokens, len(held)
}

func TestRulesHoldAndGiveBack(t *testing.T) {
	rules := newRules(t, rulesThatHold, MaxKeys(100), Reserving())
	expect := func(tokens uint64, atOnce int) {
		t.Helper()
		if gotTokens, gotAtOnce := left(t, rules); gotTokens != tokens || gotAtOnce != atOnce {
			t.Errorf("%d tokens and %d at once are left: expected %d and %d", gotTokens, gotAtOnce, tokens, atOnce)
		}
	}
	_, first := rules.ReserveAt(Attributes{"user": "ann"}, 0)
	_, second := rules.ReserveAt(Attributes{"user": "ann", "tokens": "300"}, 0)
	if d, r := rules.ReserveAt(Attributes{"user": "ann"}, 0); d.Rule != "at-once" || r != nil {
		t.Errorf("%+v, %v: expected a refusal", d, r)
	}
	first.SettleAt(Attributes{"tokens": "40"}, 0)
	first.SettleAt(Attributes{"tokens": "0"}, 0)
	first.CancelAt(0)
	if back := first.ReleaseAt(0) + first.Release(); back != 1 {
		t.Errorf("%d came back: expected 1, once", back)
	}
	expect(660, 1)
	if err := rules.ChangeAt(strings.Replace(rulesThatHold, "in_flight 2", "in_flight 3", 1), 0); err != nil {
		t.Fatal(err)
	}
	second.CancelAt(0)
	expect(960, 2)
	// Of a rule that went away nothing comes back.
	if err := rules.ChangeAt("ratecell_rules = 1\n", 0); err == nil {
		t.Error("a file without a rule is taken")
	}
	if err := rules.ChangeAt(strings.Replace(rulesThatHold, "at-once", "other", 1), 0); err != nil {
		t.Fatal(err)
	}
	if back := second.ReleaseAt(0); back != 0 {
		t.Errorf("%d came back of a rule that went away", back)
	}
	expect(960, 2)
	_, third := rules.Reserve(Attributes{"user": "bob"})
	rules.Close()
	third.Settle(nil)
	if d, r := rules.Reserve(nil); third.Release() != 0 || d.Outcome != Closed || r != nil {
		t.Errorf("%+v, %v of closed rules", d, r)
	}
}

func TestRulesThatReserveDoNotDecide(t *testing.T) {
	if _, err := NewRules(rulesThatHold); err == nil || !strings.Contains(err.Error(), "in_flight") {
		t.Errorf("%v: expected that it names in_flight", err)
	}
	if _, err := New("1/s", Reserving()); err == nil {
		t.Error("a limiter takes Reserving")
	}
	rules := newRules(t, rulesThatHold, Reserving())
	defer func() {
		if said := recover(); said == nil || !strings.Contains(toText(said), "Rules.Reserve") {
			t.Errorf("%v: expected that it names Reserve", said)
		}
	}()
	rules.Decide(nil)
}

func TestNoMoreAreInFlightThanRulesAllow(t *testing.T) {
	rules := newRules(t, strings.Replace(rulesThatHold, "1000/1w", "1000000/1w", 1), Reserving())
	var inFlight int32
	var wait sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := 0; i < 500; i++ {
				d, r := rules.ReserveAt(Attributes{"user": "ann"}, 0)
				if !d.Allowed {
					continue
				}
				if n := atomic.AddInt32(&inFlight, 1); n > 2 {
					t.Errorf("%d are in flight", n)
				}
				r.SettleAt(Attributes{"tokens": "1"}, 0)
				atomic.AddInt32(&inFlight, -1)
				r.ReleaseAt(0)
			}
		}()
	}
	wait.Wait()
	if _, atOnce := left(t, rules); atOnce != 2 {
		t.Errorf("%d at once: expected 2", atOnce)
	}
}

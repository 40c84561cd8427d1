package ratecell

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

type deciderConfig = DeciderConfig[string, func(string)]

func TestADeciderRefusesWhatIsWrong(t *testing.T) {
	limiter, rules := newTest(t, "1/s"), newRules(t, "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['client']\nlimit = '1/h'\n")
	key := func(request string) string { return request }
	attributes := func(string) Attributes { return nil }
	for said, config := range map[string]deciderConfig{
		"the limiter is nil":                {Key: key},
		"the key function is nil":           {Limiter: limiter},
		"expected a key function, or rules": {Limiter: limiter, Key: key, Attributes: attributes},
		"the function of attributes is nil": {Rules: rules},
		"rules, and a limiter":              {Rules: rules, Attributes: attributes, Limiter: limiter},
		"ASCII":                             {Limiter: limiter, Key: key, Name: "\u00fc"},
		"asks for a zone":                   {Limiter: newTest(t, "calendar_window 5/day tz=caller"), Key: key},
		"draft11|draft07":                   {Rules: rules, Attributes: attributes, Styles: StyleDraft11 | StyleDraft07},
	} {
		if _, err := NewDecider(config); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%v: expected %q", err, said)
		}
	}
}

func TestAVerdictSaysHowToAnswer(t *testing.T) {
	denied := Decision{Outcome: Denied, RetryAfter: time.Second + 1}
	for text, c := range map[string]struct {
		verdict Verdict
		status  int
		after   time.Duration
	}{
		"Too many requests: retry after 2 s":   {Verdict{Outcome: Denied, Decision: denied}, 429, time.Second + 1},
		"Too many requests: retry after 1 s":   {Verdict{Outcome: Denied, Rules: RulesDecision{RetryAfter: 1}, byRules: true}, 429, 1},
		"Too many requests":                    {Verdict{Outcome: Denied, Decision: Decision{RetryAfter: InfDuration}}, 429, InfDuration},
		"Too large for the rate limit":         {Verdict{Outcome: Never, Decision: Decision{RetryAfter: InfDuration}}, 400, 0},
		"The rules never allow it":             {Verdict{Outcome: Never, byRules: true}, 403, 0},
		"The path can be read in several ways": {Verdict{Outcome: UnclearPath, byRules: true}, 400, 0},
		"The rate limiter cannot decide":       {Verdict{}, 503, 0},
	} {
		v := c.verdict
		if v.Text() != text || v.Status() != c.status || v.RetryAfter() != c.after {
			t.Errorf("%q %d %v: expected %q %d %v", v.Text(), v.Status(), v.RetryAfter(), text, c.status, c.after)
		}
	}
	if status := (Verdict{Outcome: Never, bytes: true}).Status(); status != 413 {
		t.Errorf("%d: expected 413 of bytes", status)
	}
}

func TestADeciderOfNoServerAtAll(t *testing.T) {
	counts := new(Counts)
	decider, err := NewDecider(deciderConfig{
		Limiter: newTest(t, "leaky_queue 2/1h queue=1"), Counts: counts,
		Key: func(request string) string { return request },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	if v := decider.Decide(context.Background(), "a", h); !v.Allowed || v.Outcome != Allowed || h.Get("RateLimit") == "" {
		t.Errorf("%+v %v", v, h)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if v := decider.Decide(gone, "a", nil); v.Allowed || !v.Gone || v.Outcome != Allowed {
		t.Errorf("%+v: it is to be held, and nobody is there", v)
	}
	if v := decider.Decide(context.Background(), "a", nil); v.Allowed || v.Gone || v.Outcome != Denied || v.Status() != 429 {
		t.Errorf("%+v: the queue is full", v)
	}
	if v := decider.Decide(context.Background(), "", http.Header{}); !v.Allowed || v.Decision.Outcome != Closed {
		t.Errorf("%+v: an empty key is not limited", v)
	}
	if counts.Refused() != 1 {
		t.Errorf("%d refused", counts.Refused())
	}
}

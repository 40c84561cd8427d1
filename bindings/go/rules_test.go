package ratecell

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const siteAndLogin = `
ratecell_rules = 1
attributes = ["user"]
unclear_path = "refuse"

[[rule]]
name = "site"
key = []
limit = "10/m"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "2/m"

[[rule]]
name = "tighter"
match.user = true
key = ["user"]
limit = "1/m"
mode = "shadow"
`

func newRules(t testing.TB, text string, options ...Option) *Rules {
	t.Helper()
	rules, err := NewRules(text, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rules.Close() })
	return rules
}

func login() Attributes {
	return Attributes{"method": "POST", "path": "/login", "client": "203.0.113.7"}
}

func TestRulesChargeAllOrNone(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	for i := 0; i < 2; i++ {
		if d := rules.DecideAt(login(), 0); !d.Allowed || d.Outcome != Allowed || d.Rule != "login" || d.Err() != nil {
			t.Errorf("%+v", d)
		}
	}
	d := rules.DecideAt(login(), 0)
	if d.Allowed || d.Outcome != Denied || d.Rule != "login" || d.RetryAfter != 30*time.Second || d.Limit != 2 || d.Remaining != 0 {
		t.Errorf("%+v", d)
	}
	// The refused request was not charged to the site.
	d = rules.DecideAt(Attributes{"path": "/"}, 0)
	if !d.Allowed || d.Rule != "site" || d.Limit != 10 || d.Remaining != 7 || d.ResetAfter != 18*time.Second {
		t.Errorf("%+v", d)
	}
	if d = rules.DecideAt(nil, 0); d.Remaining != 6 {
		t.Errorf("without attributes: %+v", d)
	}
	if d = rules.Decide(Attributes{"path": "/"}); !d.Allowed {
		t.Errorf("now: %+v", d)
	}
}

func TestAnUnclearPathIsNoRules(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	d := rules.DecideAt(Attributes{"path": "/x/../login"}, 0)
	if d.Allowed || d.Outcome != UnclearPath || d.Rule != "" || d.RetryAfter != InfDuration || d.Outcome.String() != "unclear path" {
		t.Errorf("%+v", d)
	}
	if d = rules.DecideAt(Attributes{"path": "/"}, 0); d.Remaining != 9 {
		t.Errorf("the unclear path was charged: %+v", d)
	}
}

func TestShadowsRefuseNothing(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	for _, want := range []Outcome{Allowed, Denied} {
		d := rules.DecideAt(Attributes{"path": "/", "user": "ann"}, 0)
		if !d.Allowed || !reflect.DeepEqual(d.Shadows, []Shadow{{Rule: "tighter", Outcome: want}}) {
			t.Errorf("%+v", d)
		}
	}
}

// Names and values of any length and number arrive whole.
func TestManyAttributes(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	attributes := login()
	for i := 0; i < 500; i++ {
		attributes[fmt.Sprintf("header:x-%d", i)] = strings.Repeat("x", i)
	}
	attributes["user"] = ""
	for i := 0; i < 3; i++ {
		d := rules.DecideAt(attributes, 0)
		if d.Rule != "login" || d.Allowed != (i < 2) || len(d.Shadows) != 1 {
			t.Errorf("%+v", d)
		}
	}
}

func TestABadFileChangesNothing(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	rules.DecideAt(login(), 0)
	bad := strings.Replace(siteAndLogin, `limit = "2/m"`, `limit = "0/m"`, 1)
	want := "line 16: rule login, limit: bad_policy: `0/m`: zero_limit "
	var refused *Error
	if err := rules.Change(bad); !errors.As(err, &refused) || refused.Status != StatusRules || !strings.HasPrefix(refused.Text, want) {
		t.Errorf("%v", err)
	}
	if other, err := NewRules(bad); other != nil || !errors.As(err, &refused) || refused.Status != StatusRules || !strings.HasPrefix(refused.Text, want) {
		t.Errorf("%v", err)
	}
	if d := rules.DecideAt(login(), 0); !d.Allowed || d.Limit != 2 || d.Remaining != 0 {
		t.Errorf("%+v", d)
	}
	if _, err := NewRules(siteAndLogin, OnMissDeny()); !errors.As(err, &refused) || refused.Status != StatusConfig {
		t.Errorf("%v", err)
	}
	if _, err := NewRules(siteAndLogin, MaxKeys(0)); err == nil {
		t.Error("no room is taken")
	}
	want = "when_full: a cell that newcomers share is of one policy"
	if _, err := NewRules(siteAndLogin, WhenFull(FullShare)); !errors.As(err, &refused) || !strings.HasPrefix(refused.Text, want) {
		t.Errorf("%v", err)
	}
}

func TestAChangeKeepsWhatStays(t *testing.T) {
	inYears := strings.ReplaceAll(siteAndLogin, `/m"`, `/365d"`)
	rules := newRules(t, inYears, MaxKeys(100), WhenFull(FullDeny), Epoch(noon))
	rules.DecideAt(login(), 0)
	if err := rules.Change(strings.Replace(inYears, `"2/365d"`, `"fixed_window 5/365d"`, 1)); err != nil {
		t.Fatal(err)
	}
	// Another algorithm begins anew, and goes on with another limit; the site's has counted.
	if d := rules.DecideAt(login(), 0); d.Rule != "login" || d.Remaining != 4 {
		t.Errorf("%+v", d)
	}
	if err := rules.Change(strings.Replace(inYears, `"2/365d"`, `"fixed_window 4/365d"`, 1)); err != nil {
		t.Fatal(err)
	}
	if d := rules.DecideAt(login(), 0); d.Rule != "login" || d.Remaining != 2 {
		t.Errorf("%+v", d)
	}
	if err := rules.ChangeAt(strings.Replace(inYears, `"2/365d"`, `"fixed_window 6/365d"`, 1), 0); err != nil {
		t.Fatal(err)
	}
	if d := rules.DecideAt(login(), 0); d.Rule != "login" || d.Remaining != 3 {
		t.Errorf("%+v", d)
	}
	var refused *Error
	more := strings.Replace(inYears, "10/365d", "11/365d", 1)
	if err := rules.ChangeAt(more, math.MaxUint64); !errors.As(err, &refused) || refused.Status != StatusChange {
		t.Errorf("%v", err)
	}
	if d := rules.DecideAt(Attributes{"path": "/"}, 0); d.Remaining != 5 {
		t.Errorf("%+v", d)
	}
}

func TestTheTableOfRulesIsCounted(t *testing.T) {
	rules := newRules(t, siteAndLogin, MaxKeys(100))
	for _, client := range []string{"203.0.113.7", "203.0.113.8", "203.0.113.9"} {
		attributes := login()
		attributes["client"] = client
		if d := rules.DecideAt(attributes, 0); !d.Allowed {
			t.Errorf("%+v", d)
		}
	}
	stats, err := rules.StatsAt(0)
	if err != nil || stats.Live != 4 || stats.LiveError != 0 || stats.Slots < 100 || stats.Bytes < 16*stats.Slots || stats.Bytes > 2*16*stats.Slots+8192 {
		t.Errorf("%+v, %v", stats, err)
	}
	if stats.Evicted+stats.Forgiven+stats.Shared+stats.DeniedFull+stats.AllowedFull+stats.Exhausted+stats.Leased != 0 {
		t.Errorf("%+v", stats)
	}
	if later, err := rules.StatsAt(uint64(time.Hour)); err != nil || later.Live != 0 || later.Bytes != stats.Bytes {
		t.Errorf("%+v, %v", later, err)
	}
	if now, err := rules.Stats(); err != nil || now.Slots != stats.Slots {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestRulesWriteTheirFields(t *testing.T) {
	rules, header := newRules(t, siteAndLogin), http.Header{}
	d := rules.DecideAt(login(), 0)
	if err := rules.AddFields(header, StyleDraft11, noon, d); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Ratelimit-Policy": {`"site";q=10;w=60, "login";q=2;w=60`},
		"Ratelimit":        {`"site";r=9;t=6, "login";r=1;t=30`},
	}
	if !reflect.DeepEqual(header, want) {
		t.Errorf("%v", header)
	}
	if err := rules.AddFields(http.Header{}, StyleX|StyleGitHub, noon, d); err == nil {
		t.Error("two styles write the same fields")
	}
	if err := rules.Change(siteAndLogin); err != nil {
		t.Fatal(err)
	}
	header = http.Header{}
	if err := rules.AddFields(header, StyleDraft11, noon, d); err != nil || len(header) != 0 {
		t.Errorf("fields of a file that is no longer in force: %v, %v", header, err)
	}
	fewer := newRules(t, "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = 'blocked'\n")
	other := newRules(t, siteAndLogin).DecideAt(login(), 0)
	if err := fewer.AddFields(header, StyleDraft11, noon, other); err != nil || len(header) != 0 {
		t.Errorf("fields of a decision of other rules: %v, %v", header, err)
	}
	blocked := fewer.DecideAt(nil, 0)
	if err := fewer.AddFields(header, StyleDraft11, noon, blocked); err != nil || len(header) != 0 || blocked.Outcome != Never {
		t.Errorf("a blocked request: %+v, %v, %v", blocked, header, err)
	}
}

// Longer than what they are first written to.
func TestFieldsOfManyRules(t *testing.T) {
	file, names := "ratecell_rules = 1\n", []string{}
	for i := 0; i < 40; i++ {
		names = append(names, fmt.Sprintf("a-rule-with-a-long-name-%d", i))
		file += fmt.Sprintf("[[rule]]\nname = %q\nkey = []\nlimit = '%d/m'\n", names[i], 100+i)
	}
	rules, header := newRules(t, file, MaxKeys(10)), http.Header{}
	if err := rules.AddFields(header, StyleDraft11, noon, rules.DecideAt(nil, 0)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(header.Get("RateLimit"), fmt.Sprintf("%q;r=", name)) {
			t.Errorf("%v has no %s", header, name)
		}
	}
}

func TestClosedRules(t *testing.T) {
	rules := newRules(t, siteAndLogin)
	d := rules.DecideAt(login(), 0)
	rules.Close()
	rules.Close()
	if d := rules.Decide(login()); d.Allowed || d.Outcome != Closed || d.RetryAfter != InfDuration || d.Err() != ErrClosed {
		t.Errorf("%+v", d)
	}
	if err := rules.Change(siteAndLogin); err != ErrClosed {
		t.Error(err)
	}
	if err := rules.AddFields(http.Header{}, StyleDraft11, noon, d); err != ErrClosed {
		t.Error(err)
	}
	if _, err := rules.Stats(); err != ErrClosed {
		t.Error(err)
	}
	if d := new(Rules).Decide(nil); d.Err() != ErrClosed {
		t.Errorf("%+v", d)
	}
}

// Each request is decided by one of two files, and what both have in common is counted across all changes.
func TestRulesChangeUnderLoad(t *testing.T) {
	const goroutines, each = 4, 2000
	file := func(name string) string {
		return fmt.Sprintf(`
ratecell_rules = 1
[[rule]]
name = "all"
key = []
limit = "fixed_window 100/1h"
[[rule]]
name = %q
key = ["client"]
limit = "fixed_window 1000000/1h"
mode = "shadow"
`, name)
	}
	rules := newRules(t, file("one"), MaxKeys(10))
	var allowed, decided atomic.Int64
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := 0; k < each; k++ {
				d := rules.DecideAt(login(), 0)
				if d.Allowed {
					allowed.Add(1)
				}
				if d.Rule != "all" || len(d.Shadows) != 1 || d.Shadows[0].Rule != "one" && d.Shadows[0].Rule != "other" {
					t.Errorf("%+v", d)
				}
				if err := rules.AddFields(http.Header{}, StyleDraft11, noon, d); err != nil {
					t.Error(err)
				}
				decided.Add(1)
			}
		}()
	}
	changes := 0
	for decided.Load() < goroutines*each {
		if err := rules.Change(file([]string{"other", "one"}[changes%2])); err != nil {
			t.Fatal(err)
		}
		changes++
	}
	all.Wait()
	if allowed.Load() != 100 || changes < 2 {
		t.Errorf("%d were allowed in %d changes", allowed.Load(), changes)
	}
}

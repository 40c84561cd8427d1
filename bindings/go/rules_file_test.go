package ratecell

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const siteInFile = `
ratecell_rules = 1

[[rule]]
name = "site"
key = []
limit = "fixed_window 10/1d"
`

func openRules(t testing.TB, path, text string, options ...Option) *Rules {
	t.Helper()
	rules, err := OpenRules(path, text, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rules.Close() })
	return rules
}

// admittedOf counts how many of at most so many requests are admitted at the epoch.
func admittedOf(t *testing.T, rules *Rules, most int) int {
	t.Helper()
	for i := 0; i < most; i++ {
		if !rules.DecideAt(Attributes{"path": "/"}, 0).Allowed {
			return i
		}
	}
	return most
}

func TestRulesInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	here, there := openRules(t, path, siteInFile), openRules(t, path, siteInFile)
	if one, other := admittedOf(t, here, 3), admittedOf(t, there, 100); one != 3 || other != 7 {
		t.Errorf("%d and %d were admitted: expected 3 and 7", one, other)
	}
	more := strings.Replace(siteInFile, "10/1d", "14/1d", 1)
	if err := here.ChangeAt(more, 0); err != nil {
		t.Fatal(err)
	}
	if admitted := admittedOf(t, there, 100); admitted != 4 {
		t.Errorf("%d were admitted after the change: expected 4", admitted)
	}

	_, err := OpenRules(path, siteInFile)
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != StatusRegionPolicy {
		t.Fatalf("%v: expected StatusRegionPolicy", err)
	}
	for _, part := range []string{"`fixed_window 14/d`", "`fixed_window 10/d`", "rule site"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: expected %s in it", err, part)
		}
	}
	if admitted := admittedOf(t, openRules(t, path, siteInFile, Following()), 1); admitted != 0 {
		t.Error("one more was admitted by the policy of the file")
	}
	if admitted := admittedOf(t, openRules(t, path, strings.Replace(more, "14", "15", 1), Changing()), 100); admitted != 1 {
		t.Errorf("%d were admitted by the policy of the last: expected 1", admitted)
	}
}

func TestRulesThatNoFileHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "limits")
	if _, err := OpenRules(path, siteInFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: expected fs.ErrNotExist", err)
	}
	if _, err := OpenRules("", siteInFile); err == nil || !strings.Contains(err.Error(), "the path is empty") {
		t.Errorf("%v: expected an error of the empty path", err)
	}
	for _, option := range []Option{Following(), Changing()} {
		if _, err := NewRules(siteInFile, option); err == nil {
			t.Error("an option of OpenRules was taken by NewRules")
		}
	}
}

package ratecell

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

const rulesOfAServer = `
ratecell_rules = 1
attributes = ["user"]
unclear_path = "refuse"

[[rule]]
name = "health"
match.path = "/health"
mode = "skip"

[[rule]]
name = "queue"
match.path = "/queue"
key = []
limit = "leaky_queue 1/1h queue=5"

[[rule]]
name = "blocked"
match.user = "mallory"
key = []
limit = "blocked"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
match.host = "example.com"
match."header:x-api-key" = "one, two"
key = ["client"]
limit = "2/h"
`

// rulesServer serves by the rules, with the user that the query names.
func rulesServer(rules *Rules, served *int, options ...MiddlewareOption) http.Handler {
	request := ByRequest(ByClient())
	attributes := func(r *http.Request) Attributes {
		a := request(r)
		if user := r.URL.Query().Get("user"); user != "" {
			a["user"] = user
		}
		return a
	}
	return RulesMiddleware(rules, attributes, options...)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*served++
		w.WriteHeader(http.StatusNoContent)
	}))
}

func serve(handler http.Handler, method, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Header["X-Api-Key"] = []string{"one", "two"}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestRulesMiddleware(t *testing.T) {
	rules, served := newRules(t, rulesOfAServer), 0
	handler := rulesServer(rules, &served)
	const policy = `"login";q=2;w=3600`
	expectFields(t, serve(handler, "POST", "/login?user=ann"), 204,
		map[string]string{"RateLimit-Policy": policy, "RateLimit": `"login";r=1;t=T`, "Retry-After": ""})
	expectFields(t, serve(handler, "POST", "http://example.com/login"), 204, map[string]string{"RateLimit": `"login";r=0;t=T`})
	w := serve(handler, "POST", "/login")
	expectFields(t, w, 429, map[string]string{"RateLimit-Policy": policy, "RateLimit": `"login";r=0;t=T`, "Retry-After": "T"})
	if body := w.Body.String(); body != "Too Many Requests\n" {
		t.Errorf("the body is %q", body)
	}
	none := map[string]string{"RateLimit-Policy": "", "RateLimit": "", "Retry-After": ""}
	expectFields(t, serve(handler, "GET", "/login"), 204, none)
	expectFields(t, serve(handler, "POST", "/health"), 204, none)
	expectFields(t, serve(handler, "GET", "/%61/../b"), 400, none)
	expectFields(t, serve(handler, "GET", "/?user=mallory"), 403, none)
	if served != 4 {
		t.Errorf("%d served", served)
	}
	rules.Close()
	expectFields(t, serve(handler, "POST", "/login"), 204, none)
	expectFields(t, serve(rulesServer(rules, &served, FailClosed()), "POST", "/login"), 503, none)
}

func TestRulesMiddlewareHasItsOptions(t *testing.T) {
	served := 0
	handler := rulesServer(newRules(t, rulesOfAServer), &served, Styles(StyleX),
		OnRulesRefused(func(w http.ResponseWriter, _ *http.Request, d RulesDecision) {
			http.Error(w, d.Outcome.String()+" by "+d.Rule, http.StatusTeapot)
		}))
	serve(handler, "POST", "/login")
	if h := serve(handler, "POST", "/login").Header(); h.Get("RateLimit-Policy") != "" || h.Get("X-RateLimit-Limit") != "2" {
		t.Errorf("%v", h)
	}
	if w := serve(handler, "POST", "/login"); w.Code != http.StatusTeapot || w.Body.String() != "denied by login\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if served != 2 {
		t.Errorf("%d served", served)
	}
}

func TestRulesMiddlewareHoldsTheQueued(t *testing.T) {
	served := 0
	handler := rulesServer(newRules(t, rulesOfAServer), &served)
	serve(handler, "GET", "/queue")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/queue", nil).WithContext(gone))
	if served != 1 {
		t.Errorf("%d served: the second is to be held for an hour, and its client is gone", served)
	}
}

func TestByRequest(t *testing.T) {
	absent := func(*http.Request) string { return "" }
	for target, path := range map[string]string{
		"/%61//b?c=/d":             "/%61//b?c=/d",
		"//login":                  "//login",
		"http://example.com/%2e/b": "/%2e/b",
		"/a#/b?c#d":                "/a%23/b?c#d",
		"/a?://b/c":                "/a?://b/c",
	} {
		r := httptest.NewRequest("GET", target, nil)
		r.Header.Add("X-Two", "a")
		r.Header.Add("X-Two", "b")
		got := ByRequest(absent)(r)
		want := Attributes{"method": "GET", "path": path, "host": "example.com", "header:host": "example.com", "header:x-two": "a, b"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", target, got)
		}
	}
	for target, path := range map[string]string{"http://h": "/", "http://h?x=/a": "/?x=/a", "http://h:1/%2e/b?c": "/%2e/b?c", "*": "*"} {
		r := &http.Request{Method: "GET", RequestURI: target, URL: &url.URL{Path: "/changed"}}
		got := ByRequest(absent)(r)
		if _, hasHost := got["host"]; got["path"] != path || hasHost {
			t.Errorf("%s: %v", target, got)
		}
	}
	// What net/http serves the path of, whatever stands in the query.
	for target, path := range map[string]string{
		"http:/admin?x=://z/public": "/admin",
		"x:/admin?://z/public":      "/admin",
		"h/admin?://z/public":       "h/admin",
	} {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			parsed = &url.URL{Path: path}
		}
		if got := ByRequest(absent)(&http.Request{Method: "CONNECT", RequestURI: target, URL: parsed})["path"]; got != path {
			t.Errorf("%s: %s", target, got)
		}
	}
	// A prefix that a handler takes away is in the path that was sent.
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if path := ByRequest(absent)(r)["path"]; path != "/api/login" {
			t.Errorf("below /api: %s", path)
		}
	})
	for _, target := range []string{"/api/login", "http://example.com/api/login"} {
		r := httptest.NewRequest("GET", target, nil)
		w := httptest.NewRecorder()
		http.StripPrefix("/api", inner).ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	if got := ByRequest(ByClient())(httptest.NewRequest("GET", "/", nil))["client"]; got != "192.0.2.1" {
		t.Errorf("the client is %q", got)
	}
}

func TestRulesMiddlewareRefusesWhatIsWrong(t *testing.T) {
	rules, attributes := newRules(t, rulesOfAServer), ByRequest(ByClient())
	cost := CostFunc(func(*http.Request) uint32 { return 1 })
	byRules := OnRulesRefused(func(http.ResponseWriter, *http.Request, RulesDecision) {})
	for name, call := range map[string]func(){
		"rules are nil":          func() { RulesMiddleware(nil, attributes) },
		"function of attributes": func() { RulesMiddleware(rules, nil) },
		"key function":           func() { ByRequest(nil) },
		"OnRulesRefused(nil)":    func() { OnRulesRefused(nil) },
		"option 1 of 1":          func() { RulesMiddleware(rules, attributes, nil) },
		"costs are the file's":   func() { RulesMiddleware(rules, attributes, cost) },
		"names and costs":        func() { RulesMiddleware(rules, attributes, PolicyName("p")) },
		"Style(0)":               func() { RulesMiddleware(rules, attributes, Styles(0)) },
		"the handler":            func() { RulesMiddleware(rules, attributes)(nil) },
		"of RulesMiddleware":     func() { Middleware(newTest(t, "1/s"), ByClient(), byRules) },
	} {
		func() {
			defer func() {
				if said := recover(); said == nil || !strings.Contains(toText(said), name) {
					t.Errorf("%s: %v", name, said)
				}
			}()
			call()
		}()
	}
}

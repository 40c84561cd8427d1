package ratecell

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// get is the response to a request from an address.
func get(handler http.Handler, remote string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = remote
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// seconds is a time in a field, which the clock decides.
var seconds = regexp.MustCompile(`(^|t=)[1-9]\d*$`)

// expectFields compares a response, with each time in its fields written as T.
func expectFields(t *testing.T, w *httptest.ResponseRecorder, status int, fields map[string]string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, expected %d", w.Code, status)
	}
	for name, want := range fields {
		got := strings.Join(w.Header().Values(name), " + ")
		if name != "RateLimit-Policy" {
			got = seconds.ReplaceAllString(got, "${1}T")
		}
		if got != want {
			t.Errorf("%s: %s, expected %q", name, got, want)
		}
	}
}

func TestMiddleware(t *testing.T) {
	limiter := newTest(t, "2/1h")
	handler := Middleware(limiter, ByClient(), PolicyName("address"))(ok)
	const policy = `"address";q=2;w=3600`
	expectFields(t, get(handler, "192.0.2.1:80"), 204,
		map[string]string{"RateLimit-Policy": policy, "RateLimit": `"address";r=1;t=T`, "Retry-After": ""})
	expectFields(t, get(handler, "192.0.2.1:81"), 204,
		map[string]string{"RateLimit-Policy": policy, "RateLimit": `"address";r=0;t=T`, "Retry-After": ""})
	w := get(handler, "192.0.2.1:82")
	expectFields(t, w, 429,
		map[string]string{"RateLimit-Policy": policy, "RateLimit": `"address";r=0;t=T`, "Retry-After": "T"})
	if body := w.Body.String(); body != "Too Many Requests\n" {
		t.Errorf("the body is %q", body)
	}
	expectFields(t, get(handler, "192.0.2.2:80"), 204, nil)
}

func TestMiddlewareOptions(t *testing.T) {
	limiter := newTest(t, "5/1h & fixed_window 100/1d")
	handler := Middleware(limiter, ByHeader("x-api-key"),
		CostFunc(func(r *http.Request) uint32 {
			cost, _ := strconv.Atoi(r.URL.Query().Get("cost"))
			return uint32(cost)
		}),
		OnRefused(func(w http.ResponseWriter, _ *http.Request, d Decision) {
			http.Error(w, d.Outcome.String(), http.StatusTeapot)
		}))(ok)
	ask := func(key, cost string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/?cost="+cost, nil)
		if key != "" {
			r.Header.Set("X-API-Key", key)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	const policy = `"5/h";q=5;w=3600, "fixed_window 100/d";q=100;w=86400`
	expectFields(t, ask("k", "4"), 204, map[string]string{"RateLimit-Policy": policy, "RateLimit": `"5/h";r=1;t=T`})
	if w := ask("k", "2"); w.Code != http.StatusTeapot || w.Body.String() != "denied\n" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := ask("k", "101"); w.Code != http.StatusTeapot || w.Body.String() != "never\n" || w.Header().Get("Retry-After") != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	expectFields(t, ask("k", "0"), 204, nil)
	for i := 0; i < 10; i++ {
		expectFields(t, ask("", "5"), 204, map[string]string{"RateLimit-Policy": "", "RateLimit": ""})
	}
}

func TestMiddlewaresAddUp(t *testing.T) {
	outer, inner := newTest(t, "10/s"), newTest(t, "1/1h")
	handler := Middleware(outer, ByClient(), PolicyName("all"))(Middleware(inner, ByClient(), PolicyName("one"))(ok))
	get(handler, "192.0.2.1:1")
	w := get(handler, "192.0.2.1:1")
	expectFields(t, w, 429, map[string]string{
		"RateLimit-Policy": `"all";q=10;w=1 + "one";q=1;w=3600`, "Retry-After": "T",
	})
}

func TestMiddlewareOfAClosedLimiter(t *testing.T) {
	limiter := newTest(t, "2/1h")
	handler := Middleware(limiter, ByClient())(ok)
	limiter.Close()
	for _, handler := range []http.Handler{handler, Middleware(limiter, ByClient())(ok)} {
		expectFields(t, get(handler, "192.0.2.1:1"), 503,
			map[string]string{"RateLimit-Policy": "", "RateLimit": "", "Retry-After": ""})
	}
}

func TestMiddlewareHoldsTheQueued(t *testing.T) {
	limiter := newTest(t, "leaky_queue 1/1h queue=5")
	served := 0
	handler := Middleware(limiter, ByClient())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	get(handler, "192.0.2.1:1")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequest("GET", "/", nil).WithContext(gone)
	r.RemoteAddr = "192.0.2.1:2"
	handler.ServeHTTP(httptest.NewRecorder(), r)
	if served != 1 {
		t.Errorf("%d served: the second is to be held for an hour, and its client is gone", served)
	}
}

func TestSetHeaders(t *testing.T) {
	limiter := newTest(t, "100/s burst=200")
	h := http.Header{}
	if err := limiter.SetHeaders(h, "", limiter.CheckAt("k", 150, 0)); err != nil {
		t.Fatal(err)
	}
	if h.Get("RateLimit-Policy") != `"100/s burst=200";q=100;w=1;ratecell-burst=200` || h.Get("RateLimit") != `"100/s burst=200";r=50;t=2` {
		t.Errorf("%v", h)
	}
	if err := limiter.SetHeaders(h, "api", limiter.CheckAt("k", 51, 0)); err != nil {
		t.Fatal(err)
	}
	if h.Values("RateLimit")[1] != `"api";r=50;t=1` || h.Get("Retry-After") != "1" {
		t.Errorf("%v", h)
	}
	long := strings.Repeat(`a "name" `, 100)
	if err := limiter.SetHeaders(h, long, limiter.CheckAt("k", 51, 0)); err != nil {
		t.Fatal(err)
	}
	if got, want := h.Values("RateLimit")[2], `"`+strings.ReplaceAll(long, `"`, `\"`)+`";r=50;t=1`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	for name, d := range map[string]Decision{"ключ": limiter.Peek("k"), "new\nline": limiter.Peek("k"), "layer": {Outcome: Allowed, Layer: 1}, "closed": {}} {
		h := http.Header{}
		if err := limiter.SetHeaders(h, name, d); err == nil || len(h) > 0 {
			t.Errorf("%q: %v, %v", name, err, h)
		}
	}
}

func TestMiddlewareRefusesWhatIsWrong(t *testing.T) {
	limiter := newTest(t, "1/s")
	for name, call := range map[string]func(){
		"limiter":        func() { Middleware(nil, ByClient()) },
		"key function":   func() { Middleware(limiter, nil) },
		"ASCII":          func() { Middleware(limiter, ByClient(), PolicyName("ü")) },
		"CostFunc(nil)":  func() { CostFunc(nil) },
		"OnRefused(nil)": func() { OnRefused(nil) },
		"option 2 of 2":  func() { Middleware(limiter, ByClient(), PolicyName("p"), nil) },
		"the handler":    func() { Middleware(limiter, ByClient())(nil) },
		"bad_trust":      func() { ByClient(TrustedHops(1), ClientField("X", ListField), TrustedNetworks("::1")) },
		"option 1 of 1":  func() { ByClient(nil) },
		"name of a fiel": func() { ByHeader("") },
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

func toText(said any) string {
	if err, is := said.(error); is {
		return err.Error()
	}
	return said.(string)
}

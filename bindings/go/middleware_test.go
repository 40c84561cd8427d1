package ratecell

import (
	"context"
	"io"
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
	open, closed := new(Counts), new(Counts)
	var faults []error
	lets := Middleware(limiter, ByClient(), CountTo(open), OnFault(func(_ *http.Request, err error) { faults = append(faults, err) }))(ok)
	refuses := Middleware(limiter, ByClient(), CountTo(closed), FailClosed())(ok)
	limiter.Close()
	none := map[string]string{"RateLimit-Policy": "", "RateLimit": "", "Retry-After": ""}
	for i := 0; i < 3; i++ {
		expectFields(t, get(lets, "192.0.2.1:1"), 204, none)
		expectFields(t, get(refuses, "192.0.2.1:1"), 503, none)
	}
	expectFields(t, get(Middleware(limiter, ByClient(), FailClosed())(ok), "192.0.2.1:1"), 503, none)
	if open.Refused() != 0 || open.Faults() != 3 || closed.Refused() != 3 || closed.Faults() != 3 {
		t.Errorf("%d refused and %d faults, %d and %d", open.Refused(), open.Faults(), closed.Refused(), closed.Faults())
	}
	if len(faults) != 3 || faults[0] != ErrClosed {
		t.Errorf("%v: expected %v thrice", faults, ErrClosed)
	}
}

func TestMiddlewareWhoseFunctionPanics(t *testing.T) {
	rules := newRules(t, "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['client']\nlimit = '1/h'\n")
	for name, middleware := range map[string]func(said any, options ...MiddlewareOption) func(http.Handler) http.Handler{
		"key": func(said any, options ...MiddlewareOption) func(http.Handler) http.Handler {
			return Middleware(newTest(t, "1/h"), func(*http.Request) string { panic(said) }, options...)
		},
		"cost": func(said any, options ...MiddlewareOption) func(http.Handler) http.Handler {
			options = append(options, CostFunc(func(*http.Request) uint32 { panic(said) }))
			return Middleware(newTest(t, "1/h"), ByClient(), options...)
		},
		"attributes": func(said any, options ...MiddlewareOption) func(http.Handler) http.Handler {
			return RulesMiddleware(rules, func(*http.Request) Attributes { panic(said) }, options...)
		},
	} {
		var fault error
		note := OnFault(func(_ *http.Request, err error) { fault = err })
		expectFields(t, get(middleware("a bug", note)(ok), "192.0.2.1:1"), 204, map[string]string{"RateLimit": ""})
		if fault == nil || !strings.Contains(fault.Error(), name) || !strings.HasSuffix(fault.Error(), "panicked: a bug") {
			t.Errorf("%s: %v", name, fault)
		}
		expectFields(t, get(middleware("a bug", FailClosed())(ok), "192.0.2.1:1"), 503, map[string]string{"RateLimit": ""})
		func() {
			defer func() {
				if said := recover(); said != http.ErrAbortHandler {
					t.Errorf("%s: %v: expected net/http's own panic to reach it", name, said)
				}
			}()
			get(middleware(http.ErrAbortHandler)(ok), "192.0.2.1:1")
		}()
	}
}

func TestMiddlewareCountsRefusals(t *testing.T) {
	counts := new(Counts)
	handler := Middleware(newTest(t, "1/1h"), ByClient(), CountTo(counts))(ok)
	for i := 0; i < 4; i++ {
		get(handler, "192.0.2.1:1")
	}
	if counts.Refused() != 3 || counts.Faults() != 0 {
		t.Errorf("%d refused and %d faults: expected 3 and 0", counts.Refused(), counts.Faults())
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

// The status says whether the same request may be sent again.
func TestMiddlewareAnswersByOutcome(t *testing.T) {
	limiter := newTest(t, "5/1h")
	cost := uint32(5)
	costs := CostFunc(func(*http.Request) uint32 { return cost })
	requests := Middleware(limiter, ByClient(), costs)(ok)
	bytes := Middleware(limiter, ByClient(), costs, PolicyName("up"), PolicyUnit("content-bytes"))(ok)
	expectFields(t, get(requests, "192.0.2.1:1"), 204, map[string]string{"RateLimit": `"5/h";r=0;t=T`})
	expectFields(t, get(requests, "192.0.2.1:1"), 429, map[string]string{"Retry-After": "T"})
	cost = 6
	for handler, status := range map[*http.Handler]int{&requests: 400, &bytes: 413} {
		w := get(*handler, "192.0.2.1:1")
		expectFields(t, w, status, map[string]string{"Retry-After": ""})
		if body := w.Body.String(); body != http.StatusText(status)+"\n" {
			t.Errorf("the body is %q", body)
		}
	}
	expectFields(t, get(bytes, "192.0.2.1:1"), 413, map[string]string{"RateLimit-Policy": `"up";q=5;qu="content-bytes";w=3600`})
}

// The middleware asks for the time to one more unit, which no field of a sliding window has otherwise.
func TestMiddlewareAsksForNext(t *testing.T) {
	limiter := newTest(t, "1/h & fixed_window 10/365d")
	handler := Middleware(limiter, ByClient(), PolicyName("p"))(ok)
	w := get(handler, "192.0.2.1:1")
	if field := w.Header().Get("RateLimit"); field != `"p-1";r=0;t=3600` {
		t.Errorf("%s: expected the hour of the first layer, not the year of the second", field)
	}
}

func TestMiddlewareStyles(t *testing.T) {
	limiter := newTest(t, "2/1h")
	handler := Middleware(limiter, ByClient(), Styles(StyleX|StyleDraft11))(ok)
	h := get(handler, "192.0.2.1:1").Header()
	if h.Get("RateLimit-Policy") != `"2/h";q=2;w=3600` || h.Get("X-RateLimit-Limit") != "2" || h.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("%v", h)
	}
	handler = Middleware(limiter, ByClient(), Styles(StyleGitHub))(ok)
	h = get(handler, "192.0.2.1:1").Header()
	if h.Get("RateLimit-Policy") != "" || h.Get("X-RateLimit-Used") != "2" {
		t.Errorf("%v", h)
	}
	if at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err != nil || at <= 1_700_000_000 {
		t.Errorf("reset at %d, %v: expected seconds since 1970", at, err)
	}
}

func TestMiddlewareHoldsAPermitUntilTheHandlerReturns(t *testing.T) {
	for name, middleware := range map[string]func(http.Handler) http.Handler{
		"limiter": Middleware(newTest(t, "100/s & in_flight 1 hold=1w"), ByClient()),
		"rules": RulesMiddleware(newRules(t, "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['client']\n"+
			"limit = '100/s & in_flight 1 hold=1w'\n", Reserving()), ByRequest(ByClient())),
	} {
		entered, leave := make(chan bool), make(chan bool)
		handler := middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic(http.ErrAbortHandler)
			}
			if r.URL.Path == "/stream" {
				_, _ = w.Write([]byte("first"))
				w.(http.Flusher).Flush()
				entered <- true
				<-leave
			}
		}))
		server := httptest.NewServer(handler)
		get := func(path string) (int, error) {
			response, err := http.Get(server.URL + path)
			if err != nil {
				return 0, err
			}
			defer response.Body.Close()
			_, err = io.Copy(io.Discard, response.Body)
			return response.StatusCode, err
		}
		streamed := make(chan error)
		for round := 0; round < 2; round++ {
			go func() {
				_, err := get("/stream")
				streamed <- err
			}()
			<-entered
			if status, err := get("/"); status != 429 || err != nil {
				t.Errorf("%s: beside a stream %d, %v: expected 429", name, status, err)
			}
			leave <- true
			if err := <-streamed; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := get("/panic"); err == nil {
			t.Errorf("%s: a handler that panics answers", name)
		}
		if status, err := get("/"); status != 200 || err != nil {
			t.Errorf("%s: after a panic %d, %v: expected 200", name, status, err)
		}
		server.Close()
	}
}

func TestMiddlewareRefusesWhatIsWrong(t *testing.T) {
	limiter := newTest(t, "1/s")
	for name, call := range map[string]func(){
		"limiter":         func() { Middleware(nil, ByClient()) },
		"key function":    func() { Middleware(limiter, nil) },
		"ASCII":           func() { Middleware(limiter, ByClient(), PolicyName("ü")) },
		"CostFunc(nil)":   func() { CostFunc(nil) },
		"OnFault(nil)":    func() { OnFault(nil) },
		"CountTo(nil)":    func() { CountTo(nil) },
		"OnRefused(nil)":  func() { OnRefused(nil) },
		"no unit":         func() { Middleware(limiter, ByClient(), PolicyUnit("no unit")) },
		"draft11|draft07": func() { Middleware(limiter, ByClient(), Styles(StyleDraft11|StyleDraft07)) },
		"Style(0)":        func() { Middleware(limiter, ByClient(), Styles(0)) },
		"option 2 of 2":   func() { Middleware(limiter, ByClient(), PolicyName("p"), nil) },
		"the handler":     func() { Middleware(limiter, ByClient())(nil) },
		"bad_trust":       func() { ByClient(TrustedHops(1), ClientField("X", ListField), TrustedNetworks("::1")) },
		"option 1 of 1":   func() { ByClient(nil) },
		"name of a fiel":  func() { ByHeader("") },
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

//go:build cgo

// Package middlewaretest is what the middleware of every framework has to do, by a server of that framework and a client of
// net/http.
package middlewaretest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Framework is a middleware, and how to start a server with it.
type Framework[R, D any] struct {
	// ByClient, ByKey and ByRequest are by the client's address, by the field X-Api-Key, and for rules.
	ByClient  func(R) string
	ByKey     func(R) string
	ByRequest func(R) ratecell.Attributes
	// Panics panics.
	Panics func(R) string
	// Teapot answers 418 and the verdict's text.
	Teapot D
	// Serve starts a server on a free port that is stopped when the test ends. Its middleware has the config, and its handler
	// serves every path: /panic panics, which the server outlives, /hold calls hold, and all answer "served". The error is the
	// middleware's.
	Serve func(t *testing.T, config ratecell.DeciderConfig[R, D], hold func()) (url string, err error)
}

type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, method, url, key string) answer {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("X-Api-Key", key)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return answer{} // net/http's server says so that a handler panicked
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func limiter(t *testing.T, policy string) *ratecell.Limiter {
	t.Helper()
	limiter, err := ratecell.New(policy, ratecell.MaxKeys(1000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return limiter
}

// Run is all of it.
func Run[R, D any](t *testing.T, f Framework[R, D]) {
	serve := func(t *testing.T, config ratecell.DeciderConfig[R, D]) string {
		t.Helper()
		url, err := f.Serve(t, config, func() {})
		if err != nil {
			t.Fatal(err)
		}
		return url
	}
	t.Run("limits by the client", func(t *testing.T) {
		counts := new(ratecell.Counts)
		url := serve(t, ratecell.DeciderConfig[R, D]{
			Limiter: limiter(t, "2/1h"), Key: f.ByClient, Name: "address", Counts: counts,
		})
		for left := 1; left >= 0; left-- {
			got := ask(t, "GET", url+"/", "")
			expect(t, got, 200, "served")
			if field := got.header.Get("RateLimit"); !strings.HasPrefix(field, `"address";r=`+string(rune('0'+left))+";t=") {
				t.Errorf("RateLimit: %s", field)
			}
		}
		got := ask(t, "GET", url+"/", "")
		expect(t, got, 429, "Too Many Requests")
		if got.header.Get("RateLimit-Policy") != `"address";q=2;w=3600` || got.header.Get("Retry-After") == "" {
			t.Errorf("%v", got.header)
		}
		if counts.Refused() != 1 || counts.Faults() != 0 {
			t.Errorf("%d refused, %d faults", counts.Refused(), counts.Faults())
		}
	})
	t.Run("limits by a key, a cost and in words of one's own", func(t *testing.T) {
		url := serve(t, ratecell.DeciderConfig[R, D]{
			Limiter: limiter(t, "4/1h"), Key: f.ByKey, Cost: func(R) uint32 { return 3 }, Styles: ratecell.StyleX, OnDenied: f.Teapot,
		})
		got := ask(t, "GET", url+"/", "a")
		expect(t, got, 200, "served")
		if got.header.Get("X-RateLimit-Remaining") != "1" || got.header.Get("RateLimit") != "" {
			t.Errorf("%v", got.header)
		}
		expect(t, ask(t, "GET", url+"/", "a"), 418, "Too many requests: retry after ")
		expect(t, ask(t, "GET", url+"/", "b"), 200, "served")
		for i := 0; i < 3; i++ {
			expect(t, ask(t, "GET", url+"/", ""), 200, "served")
		}
	})
	t.Run("never allows a cost above the capacity", func(t *testing.T) {
		url := serve(t, ratecell.DeciderConfig[R, D]{
			Limiter: limiter(t, "4/1h"), Key: f.ByClient, Cost: func(R) uint32 { return 5 },
		})
		expect(t, ask(t, "GET", url+"/", ""), 400, "Bad Request")
	})
	t.Run("limits by rules", func(t *testing.T) {
		rules, err := ratecell.NewRules(`ratecell_rules = 1
[[rule]]
name = "login"
key = ["client"]
match = { method = 'POST', path = '/login' }
limit = "1/h"
[[rule]]
name = "keys"
match."header:x-api-key" = "k"
key = ["header:x-api-key"]
limit = "1/h"
`)
		if err != nil {
			t.Fatal(err)
		}
		defer rules.Close()
		url := serve(t, ratecell.DeciderConfig[R, D]{Rules: rules, Attributes: f.ByRequest})
		expect(t, ask(t, "POST", url+"/login?by=form", ""), 200, "served")
		got := ask(t, "POST", url+"/login", "")
		expect(t, got, 429, "Too Many Requests")
		if field := got.header.Get("RateLimit-Policy"); field != `"login";q=1;w=3600` {
			t.Errorf("RateLimit-Policy: %s", field)
		}
		expect(t, ask(t, "GET", url+"/login", ""), 200, "served")
		expect(t, ask(t, "GET", url+"/", "k"), 200, "served")
		expect(t, ask(t, "GET", url+"/", "k"), 429, "Too Many Requests")
	})
	t.Run("holds a permit until the handler returns", func(t *testing.T) {
		entered, leave := make(chan bool), make(chan bool)
		url, err := f.Serve(t, ratecell.DeciderConfig[R, D]{Limiter: limiter(t, "100/s & in_flight 1 hold=1w"), Key: f.ByClient}, func() {
			entered <- true
			<-leave
		})
		if err != nil {
			t.Fatal(err)
		}
		held := make(chan answer)
		go func() { held <- ask(t, "GET", url+"/hold", "") }()
		<-entered
		expect(t, ask(t, "GET", url+"/", ""), 429, "Too Many Requests")
		leave <- true
		expect(t, <-held, 200, "served")
		if got := ask(t, "GET", url+"/panic", ""); got.status == 200 {
			t.Errorf("a handler that panics answers %d", got.status)
		}
		expect(t, ask(t, "GET", url+"/", ""), 200, "served")
	})
	t.Run("lets go what cannot be decided", func(t *testing.T) {
		closed := limiter(t, "1/h")
		closed.Close()
		for _, config := range []ratecell.DeciderConfig[R, D]{
			{Limiter: closed, Key: f.ByClient}, {Limiter: limiter(t, "1/h"), Key: f.Panics},
		} {
			counts, said := new(ratecell.Counts), make(chan error, 1)
			config.Counts, config.OnFault = counts, func(_ R, err error) { said <- err }
			got := ask(t, "GET", serve(t, config)+"/", "")
			expect(t, got, 200, "served")
			if err := <-said; err == nil || got.header.Get("RateLimit") != "" || counts.Faults() != 1 || counts.Refused() != 0 {
				t.Errorf("%v %v %d faults %d refused", err, got.header, counts.Faults(), counts.Refused())
			}
			config.OnFault, config.FailClosed = nil, true
			expect(t, ask(t, "GET", serve(t, config)+"/", ""), 503, "Service Unavailable")
			if counts.Refused() != 1 {
				t.Errorf("%d refused", counts.Refused())
			}
		}
	})
	t.Run("is refused without a key", func(t *testing.T) {
		if _, err := f.Serve(t, ratecell.DeciderConfig[R, D]{Limiter: limiter(t, "1/h")}, nil); err == nil || !strings.Contains(err.Error(), "key function is nil") {
			t.Errorf("%v", err)
		}
	})
}

func expect(t *testing.T, got answer, status int, body string) {
	t.Helper()
	if got.status != status || !strings.Contains(got.body, body) {
		t.Errorf("%d %q: expected %d %q", got.status, got.body, status, body)
	}
}

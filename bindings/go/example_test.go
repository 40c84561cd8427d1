package ratecell_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/ratecell/ratecell/bindings/go/ratecelltest"
)

func Example() {
	limiter, err := ratecell.New("2/1h", ratecell.MaxKeys(1_000_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	for i := 0; i < 3; i++ {
		fmt.Println(limiter.Allow("user:42"))
	}
	// Output:
	// true
	// true
	// false
}

func ExampleNew_error() {
	_, err := ratecell.New("100 a second")
	fmt.Println(err)
	// Output:
	// ratecell: syntax at column 5: `a` after `100`: expected LIMIT/PERIOD, such as 100/s or 5000/1h
}

func ExampleOpen() {
	path := filepath.Join(os.TempDir(), fmt.Sprint("ratecell-example-", os.Getpid()))
	defer os.Remove(path)
	// Two processes would do the same, and so would a program in C, Rust or Python.
	one, err := ratecell.Open(path, "10/1h", ratecell.MaxKeys(1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Close()
	other, err := ratecell.Open(path, "10/1h")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Close()
	fmt.Println(one.AllowN("user:42", 7), other.CheckN("user:42", 4).Remaining)
	// Output:
	// true 3
}

func ExampleLimiter_CheckAt() {
	limiter, _ := ratecell.New("10/s burst=20")
	defer limiter.Close()
	now := uint64(time.Hour) // since any instant
	fmt.Println(limiter.CheckAt("user:42", 20, now).Allowed)
	d := limiter.CheckAt("user:42", 5, now)
	fmt.Println(d.Outcome, d.Remaining, d.RetryAfter, d.ResetAfter)
	fmt.Println(limiter.CheckAt("user:42", 5, now+uint64(d.RetryAfter)-1).Allowed)
	fmt.Println(limiter.CheckAt("user:42", 5, now+uint64(d.RetryAfter)).Allowed)
	// Output:
	// true
	// denied 0 500ms 2s
	// false
	// true
}

func ExampleLimiter_Decide() {
	queue, _ := ratecell.New("leaky_queue 1/s queue=10")
	defer queue.Close()
	now := uint64(time.Hour)
	request := ratecell.NewRequest("user:42").At(now)
	fmt.Println(queue.Decide(request).Delay, queue.Decide(request).Delay)
	// A caller who cannot wait is not queued.
	d := queue.Decide(request.Within(0))
	fmt.Println(d.Outcome, d.RetryAfter)
	// What has been spent already is charged, whatever the policy says.
	fmt.Println(queue.Decide(request.Cost(100).Charge()).Remaining)
	// Output:
	// 0s 1s
	// denied 2s
	// 0
}

func ExampleLimiter_DecideBatch() {
	limiter, _ := ratecell.New("2/1h")
	defer limiter.Close()
	keys := []string{"red", "blue", "red", "red"}
	requests := make([]ratecell.Request, len(keys))
	for i, key := range keys {
		requests[i] = ratecell.NewRequest(key)
	}
	decisions := make([]ratecell.Decision, len(keys))
	if err := limiter.DecideBatch(requests, decisions); err != nil {
		fmt.Println(err)
		return
	}
	for i, d := range decisions {
		fmt.Println(keys[i], d.Outcome)
	}
	// Output:
	// red allowed
	// blue allowed
	// red allowed
	// red denied
}

func ExampleDecideAll() {
	tenants, _ := ratecell.New("100/1h")
	defer tenants.Close()
	users, _ := ratecell.New("2/1h")
	defer users.Close()
	claims := []ratecell.Claim{
		{Limiter: tenants, Request: ratecell.NewRequest("tenant:7")},
		{Limiter: users, Request: ratecell.NewRequest("user:42")},
	}
	for i := 0; i < 3; i++ {
		outcome, err := ratecell.DecideAll(claims, nil)
		fmt.Println(outcome, err)
	}
	// The third was charged to nobody.
	fmt.Println(tenants.Peek("tenant:7").Remaining)
	// Output:
	// allowed <nil>
	// allowed <nil>
	// denied <nil>
	// 98
}

func ExampleLimiter_Reserve() {
	// So many tokens a minute, and so many requests at once.
	limiter, _ := ratecell.New("90000/1m & in_flight 2 hold=60s")
	defer limiter.Close()
	answer := func() (tokens uint32) {
		d, r, err := limiter.Reserve("org:7", 2)
		if err != nil || !d.Allowed {
			return 0
		}
		defer r.Release() // of what is in flight
		defer func() { r.Settle(tokens) }()
		return 1
	}
	fmt.Println(answer(), limiter.Peek("org:7").Remaining)
	// Output:
	// 1 2
}

func ExampleLimiter_Resume() {
	path := filepath.Join(os.TempDir(), fmt.Sprint("ratecell-resume-", os.Getpid()))
	defer os.Remove(path)
	one, _ := ratecell.Open(path, "90000/1d", ratecell.MaxKeys(1000))
	defer one.Close()
	_, r, err := one.Reserve("org:7", 4000)
	if err != nil {
		fmt.Println(err)
		return
	}
	data, _ := r.MarshalBinary()

	// Another process, or this one after a restart.
	other, _ := ratecell.Open(path, "90000/1d")
	defer other.Close()
	var resumed ratecell.Reservation
	if err := resumed.UnmarshalBinary(data); err != nil {
		fmt.Println(err)
		return
	}
	other.Resume(&resumed)
	fmt.Println(resumed.Settle(0).Remaining)
	// Output:
	// 90000
}

func ExampleAddFields() {
	limiter, _ := ratecell.New("10/1m")
	defer limiter.Close()
	d := limiter.Decide(ratecell.NewRequest("user:42").Cost(10).WithNext())
	h := http.Header{}
	answer := ratecell.Answer{Limiter: limiter, Decision: d, Name: "api"}
	if err := ratecell.AddFields(h, ratecell.StyleDraft11|ratecell.StyleX, time.Now(), answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Get("RateLimit-Policy"), h.Get("RateLimit"))
	fmt.Println(h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"), h.Get("X-RateLimit-Reset"))
	// Output:
	// "api";q=10;w=60 "api";r=0;t=6
	// 10 0 60
}

func ExampleLimiter_Wait() {
	limiter, _ := ratecell.New("1/1h")
	defer limiter.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(limiter.Wait(ctx, "user:42", 1))
	// It would take an hour: known at once, and nothing is taken.
	err := limiter.Wait(ctx, "user:42", 1)
	fmt.Println(errors.Is(err, ratecell.ErrWouldExceedDeadline))
	// Output:
	// <nil>
	// true
}

func ExampleLimiter_WithPolicy() {
	free, _ := ratecell.New("100/1h burst=10")
	defer free.Close()
	paid, err := free.WithPolicy("100/1h burst=100")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer paid.Close()
	free.AllowN("user:42", 10)
	fmt.Println(free.Allow("user:42"), paid.Allow("user:42"))
	// Output:
	// false true
}

func ExampleLimiter_Change() {
	limiter, _ := ratecell.New("fixed_window 10/1h")
	defer limiter.Close()
	limiter.AllowN("user:42", 8)
	if err := limiter.Change("fixed_window 15/1h"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Peek("user:42").Remaining, "of", limiter.Policy())
	fmt.Println(limiter.Change("fixed_window 15/1d"))
	// Output:
	// 7 of fixed_window 15/h
	// ratecell: `fixed_window 15/d` cannot follow `fixed_window 15/h`: expected as many layers, each of the same algorithm and, of windows, the same window
}

func ExampleRules() {
	const file = `
ratecell_rules = 1

[[rule]]
name = "site"
key = []
limit = "100/s"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "1/m"
`
	header := http.Header{}
	rules, err := ratecell.NewRules(file)
	if err != nil {
		fmt.Println(err) // the line, the rule, the field, and what was wrong
		return
	}
	defer rules.Close()
	d := rules.Decide(ratecell.Attributes{"method": "POST", "path": "/login", "client": "203.0.113.7"})
	if !d.Allowed {
		fmt.Println("refused by", d.Rule, "for", d.RetryAfter)
	}
	err = rules.AddFields(header, ratecell.StyleDraft11, time.Now(), d)
	fmt.Println(err, header["Ratelimit"])

	login := ratecell.Attributes{"method": "POST", "path": "/login", "client": "203.0.113.8"}
	for i := 0; i < 2; i++ {
		d = rules.Decide(login)
	}
	fmt.Println(d.Outcome, d.Rule)
	fmt.Println(rules.Change(strings.Replace(file, "1/m", "1/month", 1)))
	// Output:
	// <nil> ["site";r=99;t=1, "login";r=0;t=60]
	// denied login
	// ratecell: line 14: rule login, limit: bad_policy: `1/month`: syntax at column 3: period is `month`: a month has no fixed length, write 30d
}

func ExampleMiddleware() {
	limiter, _ := ratecell.New("1/1h")
	defer limiter.Close()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	handler := ratecell.Middleware(limiter, ratecell.ByClient(), ratecell.PolicyName("address"))(hello)
	for i := 0; i < 2; i++ {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "address";q=1;w=3600
	// 429 "address";q=1;w=3600
}

func ExampleRulesMiddleware() {
	rules, _ := ratecell.NewRules("ratecell_rules = 1\n[[rule]]\nname = 'login'\nmatch.path = '/login'\nkey = ['client']\nlimit = '1/h'\n")
	defer rules.Close()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	request := ratecell.ByRequest(ratecell.ByClient(ratecell.ClientWidth(32, 128)))
	handler := ratecell.RulesMiddleware(rules, request)(hello)
	for i := 0; i < 2; i++ {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/login", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "login";q=1;w=3600
	// 429 "login";q=1;w=3600
}

func ExampleByClient() {
	for _, by := range []ratecell.KeyFunc{
		ratecell.ByClient(),
		ratecell.ByClient(ratecell.ClientField("X-Forwarded-For", ratecell.ListField), ratecell.TrustedHops(1)),
		ratecell.ByClient(ratecell.ClientField("Forwarded", ratecell.ForwardedField), ratecell.TrustedNetworks("10.0.0.0/8", "unix")),
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.9:4711"
		r.Header.Set("X-Forwarded-For", "6.6.6.6, 2001:db8:1:2::3")
		r.Header.Set("Forwarded", `for=6.6.6.6, for="203.0.113.7:80"`)
		fmt.Println(by(r))
	}
	// Output:
	// 10.0.0.9
	// 2001:db8:1:2::/64
	// 203.0.113.7
}

func ExampleNewClients() {
	clients, err := ratecell.NewClients(ratecell.ClientWidth(32, 56))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clients.Key("[2001:db8:1:2::3]:4711", nil), clients.Key("@", nil))
	_, err = ratecell.NewClients(ratecell.ClientField("X-Real-IP", ratecell.SingleField), ratecell.TrustedHops(2))
	fmt.Println(err)
	// Output:
	// 2001:db8:1::/56 unix
	// ratecell: bad_hops: 2 hops of a single field: expected 1 to 1
}

func ExampleWithClock() {
	clock := ratecelltest.NewClock(time.Now())
	limiter, err := ratecell.New("1/1h", ratecell.WithClock(clock))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Allow("user:42"), limiter.Allow("user:42"))
	clock.Advance(time.Hour)
	fmt.Println(limiter.Allow("user:42"))
	// Output:
	// true false
	// true
}

package ratecelltest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"testing"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

var day = time.Date(2031, 5, 14, 12, 0, 0, 0, time.UTC) // a Wednesday

func limiter(t *testing.T, policy string, clock ratecell.Clock) *ratecell.Limiter {
	t.Helper()
	limiter, err := ratecell.New(policy, ratecell.MaxKeys(1000), ratecell.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return limiter
}

func TestEveryDecisionIsAtTheClocksTime(t *testing.T) {
	clock := NewClock(day)
	for name, allowed := range map[string]func(*ratecell.Limiter) bool{
		"Allow":   func(l *ratecell.Limiter) bool { return l.Allow("a") },
		"Check":   func(l *ratecell.Limiter) bool { return l.Check("a").Allowed },
		"Decide":  func(l *ratecell.Limiter) bool { return l.Decide(ratecell.NewRequest("a")).Allowed },
		"Reserve": func(l *ratecell.Limiter) bool { d, _, err := l.Reserve("a", 1); return d.Allowed && err == nil },
		"DecideBatch": func(l *ratecell.Limiter) bool {
			var decisions [1]ratecell.Decision
			err := l.DecideBatch([]ratecell.Request{ratecell.NewRequest("a")}, decisions[:])
			return decisions[0].Allowed && err == nil
		},
		"DecideAll": func(l *ratecell.Limiter) bool {
			outcome, err := ratecell.DecideAll([]ratecell.Claim{{Limiter: l, Request: ratecell.NewRequest("a")}}, nil)
			return outcome == ratecell.Allowed && err == nil
		},
		"Wait": func(l *ratecell.Limiter) bool {
			ctx, cancel := context.WithDeadline(context.Background(), clock.Now().Add(time.Hour-1))
			defer cancel()
			err := l.Wait(ctx, "a", 1)
			return err == nil
		},
	} {
		first := NewClock(clock.Now())
		if name == "Wait" {
			first = NewClock(time.Now().Add(time.Hour)) // a context's deadline is the system's, too
			clock = first
		}
		l := limiter(t, "1/h", first)
		if !allowed(l) || allowed(l) {
			t.Errorf("%s: expected the first and not the second", name)
		}
		first.Advance(time.Hour - 1)
		if name != "Wait" && allowed(l) {
			t.Errorf("%s: 1 ns too early", name)
		}
		first.Advance(1)
		if !allowed(l) {
			t.Errorf("%s: expected one an hour later", name)
		}
	}
}

func TestTimesAreSinceTheMondayBefore(t *testing.T) {
	clock := NewClock(day)
	l := limiter(t, "1/h", clock)
	monday := time.Date(2031, 5, 12, 0, 0, 0, 0, time.UTC)
	if !l.Epoch().Equal(monday) || l.Now() != uint64(day.Sub(monday)) {
		t.Errorf("%v and %d: expected %v", l.Epoch(), l.Now(), monday)
	}
	first := time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC)
	if epoch := limiter(t, "1/h", NewClock(first)).Epoch(); !epoch.Equal(first) {
		t.Errorf("%v", epoch)
	}
	if _, err := ratecell.New("1/h", ratecell.WithClock(NewClock(first.Add(-1)))); err == nil {
		t.Error("a clock before the first epoch that there is")
	}
	// Midnight.
	window := limiter(t, "fixed_window 1/1d", clock)
	if !window.Allow("a") || window.Allow("a") {
		t.Error("expected one")
	}
	clock.Advance(12*time.Hour - 1)
	if window.Allow("a") {
		t.Error("before midnight")
	}
	clock.Advance(1)
	if !window.Allow("a") {
		t.Error("after midnight")
	}
}

func TestWaitersGoWhenTheClockComes(t *testing.T) {
	clock := NewClock(time.Now())
	l := limiter(t, "1/h", clock)
	l.Allow("a")
	gone := make(chan error)
	go func() { gone <- l.Wait(context.Background(), "a", 1) }()
	clock.AwaitTimers(1)
	clock.Advance(time.Hour - 1)
	select {
	case err := <-gone:
		t.Errorf("gone 1 ns too early: %v", err)
	default:
	}
	clock.AwaitTimers(1)
	clock.Advance(1)
	if err := <-gone; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.Wait(ctx, "a", 1); !errors.Is(err, ratecell.ErrWouldExceedDeadline) {
		t.Errorf("%v: the clock is an hour ahead of the deadline", err)
	}
}

func TestReservationsChangesAndStats(t *testing.T) {
	clock := NewClock(day)
	l := limiter(t, "10/h & in_flight 1 hold=1m", clock)
	_, r, err := l.Reserve("a", 1)
	if err != nil || l.Allow("a") {
		t.Errorf("%v: expected one in flight", err)
	}
	clock.Advance(50 * time.Second)
	if d := r.Renew(); !d.Allowed && d.Outcome != ratecell.Allowed {
		t.Errorf("%+v", d)
	}
	clock.Advance(50 * time.Second)
	if l.Allow("a") {
		t.Error("the permit was renewed")
	}
	if d := r.Release(); d.GivenBack != 1 {
		t.Errorf("%+v", d)
	}
	if err := l.Change("20/h & in_flight 1 hold=1m"); err != nil {
		t.Error(err)
	}
	stats, err := l.Stats()
	if err != nil || stats.Live != 1 {
		t.Errorf("%d live, %v", stats.Live, err)
	}
	clock.Advance(24 * time.Hour)
	if stats, err = l.Stats(); err != nil || stats.Live != 0 {
		t.Errorf("a day later %d live, %v", stats.Live, err)
	}
}

func TestRulesAndMiddlewares(t *testing.T) {
	clock := NewClock(day)
	rules, err := ratecell.NewRules("ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = '1/h'\n",
		ratecell.WithClock(clock), ratecell.Reserving())
	if err != nil {
		t.Fatal(err)
	}
	defer rules.Close()
	served := 0
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })
	byRules := ratecell.RulesMiddleware(rules, ratecell.ByRequest(ratecell.ByClient()))(handler)
	ask := func(handler http.Handler) int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	if codes := [...]int{ask(byRules), ask(byRules)}; codes != [...]int{200, 429} {
		t.Error(codes)
	}
	clock.Advance(time.Hour)
	if code := ask(byRules); code != 200 {
		t.Error(code)
	}
	queue := ratecell.Middleware(limiter(t, "leaky_queue 1/h queue=5", clock), ratecell.ByClient())(handler)
	ask(queue)
	held := make(chan int)
	go func() { held <- ask(queue) }()
	clock.AwaitTimers(1)
	before := served
	clock.Advance(time.Hour)
	if code := <-held; code != 200 || served != before+1 {
		t.Errorf("%d, %d served", code, served)
	}
}

func TestTimersAreCalledInTheirOrder(t *testing.T) {
	clock := NewClock(day)
	var called []time.Duration
	note := func() { called = append(called, clock.Now().Sub(day)) }
	clock.AfterFunc(3, note)
	clock.AfterFunc(1, func() {
		note()
		clock.AfterFunc(1, note)
	})
	stop := clock.AfterFunc(2, note)
	if !stop() || stop() {
		t.Error("stopped twice, or never")
	}
	clock.AfterFunc(9, note)
	clock.Advance(5)
	if !reflect.DeepEqual(called, []time.Duration{1, 2, 3}) || clock.Now().Sub(day) != 5 {
		t.Errorf("%v", called)
	}
	at := make(chan bool)
	clock.AfterFunc(0, func() { close(at) })
	<-at
	defer func() {
		if recover() == nil {
			t.Error("it goes back")
		}
	}()
	clock.Advance(-1)
}

func TestOtherClocksAreRefused(t *testing.T) {
	if _, err := ratecell.New("1/s", ratecell.WithClock(nil)); err == nil {
		t.Error("no clock")
	}
	if _, err := ratecell.Open(t.TempDir()+"/limits", "1/s", ratecell.WithClock(NewClock(day))); err == nil {
		t.Error("a file by a clock of its own")
	}
	if _, err := ratecell.OpenRules(t.TempDir()+"/rules", "", ratecell.WithClock(NewClock(day))); err == nil {
		t.Error("rules in a file by a clock of their own")
	}
}

func TestFieldsHaveTheClocksTime(t *testing.T) {
	clock := NewClock(day)
	middleware := ratecell.Middleware(limiter(t, "1/h", clock), ratecell.ByClient(), ratecell.Styles(ratecell.StyleXUnix))
	response := httptest.NewRecorder()
	middleware(http.NotFoundHandler()).ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	if reset := response.Header().Get("X-RateLimit-Reset"); reset != strconv.FormatInt(day.Add(time.Hour).Unix(), 10) {
		t.Errorf("%v: expected an hour after the clock's time", response.Header())
	}
}

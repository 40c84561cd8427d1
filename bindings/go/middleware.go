//go:build cgo

package ratecell

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// MiddlewareOption is one setting of [Middleware] or [RulesMiddleware].
type MiddlewareOption func(*middleware)

// PolicyName sets the name by which clients know the policy, as [Answer] has it. Without it each layer is named by its
// own text. Middleware panics if it is none.
func PolicyName(name string) MiddlewareOption {
	return func(m *middleware) { m.name = name }
}

// PolicyUnit sets what is counted, as [Answer] has it, where [CostFunc] counts other things than requests. Middleware
// panics if it is no unit.
func PolicyUnit(unit string) MiddlewareOption {
	return func(m *middleware) { m.unit = unit }
}

// Styles sets which fields responses have, [StyleDraft11] without it. Middleware panics if they cannot be sent together.
func Styles(styles Style) MiddlewareOption {
	return func(m *middleware) { m.styles = styles }
}

// CostFunc sets what a request costs, 1 without it. A cost of 0 is let through and charges nothing. CostFunc panics
// if the function is nil.
func CostFunc(cost func(*http.Request) uint32) MiddlewareOption {
	if cost == nil {
		panic("ratecell: CostFunc(nil): expected a function that tells what a request costs")
	}
	return func(m *middleware) { m.cost = cost }
}

// OnRefused sets what answers a request that is refused. The fields are already in the response's header, its
// status is still to be written. Without it the answer is
//
//   - 429 Too Many Requests where the Outcome is Denied,
//   - 400 Bad Request where it is Never, or 413 Request Entity Too Large where the unit is content-bytes: the same
//     request will not be allowed later, and clients repeat what was answered 429,
//   - 503 Service Unavailable where the decision is not about the client: ClockRange, Closed.
//
// OnRefused panics if the function is nil.
func OnRefused(refused func(http.ResponseWriter, *http.Request, Decision)) MiddlewareOption {
	if refused == nil {
		panic("ratecell: OnRefused(nil): expected a function that answers a refused request")
	}
	return func(m *middleware) { m.refused = refused }
}

type middleware struct {
	limiter *Limiter
	holds   bool // a permit, until the request has ended
	key     KeyFunc
	name    string
	unit    string
	styles  Style
	cost    func(*http.Request) uint32
	refused func(http.ResponseWriter, *http.Request, Decision)

	rulesRefused func(http.ResponseWriter, *http.Request, RulesDecision) // nil: not of RulesMiddleware
}

// Middleware limits the requests that a handler gets: those that the limiter allows go on, with the fields
// RateLimit and RateLimit-Policy in their responses, or those of other [Styles]; the others are answered 429, with
// Retry-After beside them, or as [OnRefused] has it.
//
//	http.Handle("/", ratecell.Middleware(limiter, ratecell.ByClient())(handler))
//
// The key function says which client is limited. A request whose key is empty is not limited, and has no fields: it skips
// the limit. Under a layer in_flight a request has its permit until the handler returns, also by a panic. Under a leaky_queue a request is held for its Delay, and dropped if its client goes meanwhile. The fields
// are one client's: a handler whose responses are cached for others says so in Cache-Control.
//
// Middleware panics, as http.Handle does, if the limiter, the key function or an option is nil, or a setting is
// wrong; what it returns panics if the handler is nil.
func Middleware(limiter *Limiter, key KeyFunc, options ...MiddlewareOption) func(http.Handler) http.Handler {
	if limiter == nil {
		panic("ratecell: Middleware: the limiter is nil")
	}
	if key == nil {
		panic("ratecell: Middleware: the key function is nil")
	}
	m := &middleware{
		limiter: limiter,
		holds:   strings.Contains(limiter.Policy(), "in_flight"),
		key:     key,
		cost:    func(*http.Request) uint32 { return 1 },
		styles:  StyleDraft11,
	}
	m.refused = m.refuse
	m.apply("Middleware", options)
	if m.rulesRefused != nil {
		panic("ratecell: Middleware: OnRulesRefused: expected OnRefused; the other is of RulesMiddleware")
	}
	peek := limiter.Peek("")
	if peek.NoZone() {
		panic(fmt.Sprintf("ratecell: Middleware: %q asks for a zone, and a middleware names none: expected another policy", limiter.Policy()))
	}
	// A name, a unit and styles are wrong of every decision or of none. A closed limiter has no fields.
	if err := m.addFields(http.Header{}, peek); err != nil && err != ErrClosed {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("ratecell: Middleware: the handler is nil")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	key := m.key(r)
	if key == "" {
		next.ServeHTTP(w, r)
		return
	}
	d, held := m.decide(NewRequest(key).Cost(m.cost(r)).WithNext())
	defer held.Release()
	// The fields are help for the client: a limiter closed since has none, and its decision stands.
	_ = m.addFields(w.Header(), d)
	if !d.Allowed {
		m.refused(w, r, d)
		return
	}
	if d.Delay > 0 && !hold(r, d.Delay) {
		return
	}
	next.ServeHTTP(w, r)
}

// decide reserves where the policy has a layer in_flight; otherwise nothing is held.
func (m *middleware) decide(request Request) (Decision, *Reservation) {
	if !m.holds {
		return m.limiter.Decide(request), nil
	}
	// An error is that of a closed limiter, and its decision says so.
	d, held, _ := m.limiter.ReserveRequest(request)
	return d, held
}

// hold sleeps, and reports whether the client is still there.
func hold(r *http.Request, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (m *middleware) addFields(h http.Header, d Decision) error {
	return AddFields(h, m.styles, time.Now(), Answer{Limiter: m.limiter, Decision: d, Name: m.name, Unit: m.unit})
}

func (m *middleware) refuse(w http.ResponseWriter, _ *http.Request, d Decision) {
	status := http.StatusServiceUnavailable
	switch {
	case d.Outcome == Denied:
		status = http.StatusTooManyRequests
	case d.Outcome == Never && m.unit == "content-bytes":
		status = http.StatusRequestEntityTooLarge
	case d.Outcome == Never:
		status = http.StatusBadRequest
	}
	http.Error(w, http.StatusText(status), status)
}

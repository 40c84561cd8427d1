//go:build cgo

package ratecell

import (
	"fmt"
	"net/http"
)

// MiddlewareOption is one setting of [Middleware] or [RulesMiddleware].
type MiddlewareOption func(*middleware)

// PolicyName sets the name by which clients know the policy, as [Answer] has it. Without it each layer is named by its
// own text. Middleware panics if it is none.
func PolicyName(name string) MiddlewareOption {
	return func(m *middleware) { m.config.Name = name }
}

// PolicyUnit sets what is counted, as [Answer] has it, where [CostFunc] counts other things than requests. Middleware
// panics if it is no unit.
func PolicyUnit(unit string) MiddlewareOption {
	return func(m *middleware) { m.config.Unit = unit }
}

// Styles sets which fields responses have, [StyleDraft11] without it. Middleware panics if they cannot be sent together,
// and Styles if there are none.
func Styles(styles Style) MiddlewareOption {
	if styles == 0 {
		panic(styles.check())
	}
	return func(m *middleware) { m.config.Styles = styles }
}

// CostFunc sets what a request costs, 1 without it. A cost of 0 is let through and charges nothing. CostFunc panics
// if the function is nil.
func CostFunc(cost func(*http.Request) uint32) MiddlewareOption {
	if cost == nil {
		panic("ratecell: CostFunc(nil): expected a function that tells what a request costs")
	}
	return func(m *middleware) { m.config.Cost = cost }
}

// OnRefused sets what answers a request that is refused. The fields are already in the response's header, its
// status is still to be written. Without it the answer is as [Verdict.Status] says. OnRefused panics if the function is nil.
func OnRefused(refused func(http.ResponseWriter, *http.Request, Decision)) MiddlewareOption {
	if refused == nil {
		panic("ratecell: OnRefused(nil): expected a function that answers a refused request")
	}
	return func(m *middleware) { m.refused = refused }
}

// FailClosed answers 503 Service Unavailable where a request cannot be decided: the limiter is closed, the time is past what
// the policy can tell, or a function that was given to the middleware panics. Without it the request goes on, unlimited and
// without fields.
func FailClosed() MiddlewareOption {
	return func(m *middleware) { m.config.FailClosed = true }
}

// OnFault sets what is called with each request that cannot be decided, and the reason, such as to log it. OnFault panics if
// the function is nil.
func OnFault(fault func(*http.Request, error)) MiddlewareOption {
	if fault == nil {
		panic("ratecell: OnFault(nil): expected a function that takes note of a fault")
	}
	return func(m *middleware) { m.config.OnFault = fault }
}

// CountTo sets where refusals and faults are counted. CountTo panics if it is nil.
func CountTo(counts *Counts) MiddlewareOption {
	if counts == nil {
		panic("ratecell: CountTo(nil): expected where to count")
	}
	return func(m *middleware) { m.config.Counts = counts }
}

type middleware struct {
	config       DeciderConfig[*http.Request, struct{}]
	refused      func(http.ResponseWriter, *http.Request, Decision)      // nil: as the status says
	rulesRefused func(http.ResponseWriter, *http.Request, RulesDecision) // nil: as the status says
}

// Middleware limits the requests that a handler gets: those that the limiter allows go on, with the fields
// RateLimit and RateLimit-Policy in their responses, or those of other [Styles]; the others are answered 429, with
// Retry-After beside them, or as [OnRefused] has it.
//
//	http.Handle("/", ratecell.Middleware(limiter, ratecell.ByClient())(handler))
//
// The key function says which client is limited. A request whose key is empty is not limited, and has no fields: it skips
// the limit. Under a layer in_flight a request has its permit until the handler returns, also by a panic. Under a leaky_queue a
// request is held for its Delay, and dropped if its client goes meanwhile. One that cannot be decided goes on, or is refused
// by [FailClosed]. The fields are one client's: a handler whose responses are cached for others says so in Cache-Control.
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
	m := &middleware{}
	m.apply("Middleware", options)
	if m.rulesRefused != nil {
		panic("ratecell: Middleware: OnRulesRefused: expected OnRefused; the other is of RulesMiddleware")
	}
	m.config.Limiter, m.config.Key = limiter, key
	return m.around("Middleware")
}

func (m *middleware) apply(name string, options []MiddlewareOption) {
	for i, option := range options {
		if option == nil {
			panic(fmt.Sprintf("ratecell: %s: option %d of %d is nil", name, i+1, len(options)))
		}
		option(m)
	}
}

// around is what puts the middleware of this name before a handler.
func (m *middleware) around(name string) func(http.Handler) http.Handler {
	decider, err := NewDecider(m.config)
	if err != nil {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("ratecell: " + name + ": the handler is nil")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := decider.Decide(r.Context(), r, w.Header())
			defer v.Release()
			switch {
			case v.Allowed:
				next.ServeHTTP(w, r)
			case !v.Gone:
				m.refuse(w, r, v)
			}
		})
	}
}

func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, v Verdict) {
	switch {
	case m.refused != nil:
		m.refused(w, r, v.Decision)
	case m.rulesRefused != nil:
		m.rulesRefused(w, r, v.Rules)
	default:
		http.Error(w, http.StatusText(v.Status()), v.Status())
	}
}

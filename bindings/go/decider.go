//go:build cgo

package ratecell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// DeciderConfig is what a middleware limits requests of the type R by: either a Limiter and a Key, or Rules and Attributes.
// D is the type of the function that answers a refused request, which is another for each framework.
type DeciderConfig[R, D any] struct {
	// Limiter limits all requests by its policy.
	Limiter *Limiter
	// Key tells who is limited. A request whose key is empty is not limited.
	Key func(R) string
	// Cost tells what a request costs; nil: 1. A cost of 0 is let through and charges nothing.
	Cost func(R) uint32
	// Name is the name of the policy in fields; empty: each layer is named by its own text.
	Name string
	// Unit is what is counted, as [Answer] has it; empty: requests.
	Unit string

	// Rules limits requests by a file of rules.
	Rules *Rules
	// Attributes tells what the rules know of a request.
	Attributes func(R) Attributes

	// Styles is which fields responses have; 0: [StyleDraft11].
	Styles Style
	// OnDenied answers a request that is refused, whatever the reason; nil: as [Verdict.Status] says.
	OnDenied D
	// FailClosed refuses with 503 what cannot be decided: the limiter is closed, the time is past what the policy can tell, or
	// a function above panics. Without it such a request goes on, unlimited and without fields.
	FailClosed bool
	// OnFault is called with each request that cannot be decided, and the reason, in the request's goroutine; nil: faults are
	// only counted.
	OnFault func(R, error)
	// Counts is where refusals and faults are counted; nil: nowhere.
	Counts *Counts
}

// Counts is how often something happened that responses do not show. The zero Counts is ready for use, and may be given to
// several middlewares. Any number of goroutines may use it at once; it must not be copied.
type Counts struct {
	refused, faults atomic.Uint64
}

// Refused is the requests that were refused, those that could not be decided among them if they were.
func (c *Counts) Refused() uint64 { return c.refused.Load() }

// Faults is the requests that could not be decided, whether they went on or were refused.
func (c *Counts) Faults() uint64 { return c.faults.Load() }

// Decider decides the requests of a server: what the middlewares of all frameworks share. It is for those who write a
// middleware for another one. Any number of goroutines may use it at once.
type Decider[R any] struct {
	limiter    *Limiter
	holds      bool // a permit, until the request has ended
	key        func(R) string
	cost       func(R) uint32
	name       string
	unit       string
	rules      *Rules
	attributes func(R) Attributes
	styles     Style
	failClosed bool
	onFault    func(R, error)
	counts     *Counts
}

// NewDecider makes a Decider. The error says which part of the config is missing, or wrong.
func NewDecider[R, D any](config DeciderConfig[R, D]) (*Decider[R], error) {
	d := &Decider[R]{
		limiter: config.Limiter, key: config.Key, cost: config.Cost, name: config.Name, unit: config.Unit,
		rules: config.Rules, attributes: config.Attributes,
		styles: config.Styles, failClosed: config.FailClosed, onFault: config.OnFault, counts: config.Counts,
	}
	if d.styles == 0 {
		d.styles = StyleDraft11
	}
	if d.counts == nil {
		d.counts = new(Counts)
	}
	if d.rules != nil {
		return d, d.checkRules()
	}
	return d, d.checkLimiter()
}

func (d *Decider[R]) checkRules() error {
	if d.limiter != nil || d.key != nil || d.cost != nil || d.name != "" || d.unit != "" {
		return errors.New("ratecell: a middleware has rules, and a limiter, key, cost, name or unit beside them: expected rules and attributes alone, for the others are the file's")
	}
	if d.attributes == nil {
		return errors.New("ratecell: a middleware has rules, and the function of attributes is nil: expected one that tells what the rules know of a request")
	}
	return d.styles.check()
}

func (d *Decider[R]) checkLimiter() error {
	if d.limiter == nil {
		return errors.New("ratecell: the limiter is nil: a middleware needs a limiter and a key function, or rules and a function of attributes")
	}
	if d.attributes != nil {
		return errors.New("ratecell: a middleware has a limiter, and a function of attributes: expected a key function, or rules")
	}
	if d.key == nil {
		return errors.New("ratecell: the key function is nil: expected one that tells who is limited")
	}
	if d.cost == nil {
		d.cost = func(R) uint32 { return 1 }
	}
	d.holds = strings.Contains(d.limiter.Policy(), "in_flight")
	peek := d.limiter.Peek("")
	if peek.NoZone() {
		return fmt.Errorf("ratecell: %q asks for a zone, and a middleware names none: expected another policy", d.limiter.Policy())
	}
	// A name, a unit and styles are wrong of every decision or of none. A closed limiter has no fields.
	if err := d.addFields(http.Header{}, &Verdict{Decision: peek}); err != nil && err != ErrClosed {
		return err
	}
	return nil
}

// Verdict is what becomes of a request. A program that has one calls [Verdict.Release] when the request has ended.
type Verdict struct {
	// Allowed is whether the request goes on.
	Allowed bool
	// Gone is whether the request's context ended while it was held for its Delay: it does not go on, and there is nobody to be
	// answered.
	Gone bool
	// Outcome is the kind of the answer; [Allowed] of a request that is not limited, and [Closed] of one that could not be
	// decided.
	Outcome Outcome
	// Decision is the limiter's. The zero Decision of rules, and of a request that is not limited or could not be decided.
	Decision Decision
	// Rules is the decision of rules. The zero RulesDecision of a limiter, and of a request that could not be decided.
	Rules RulesDecision

	byRules   bool
	bytes     bool // are counted
	held      *Reservation
	rulesHeld *RulesReservation
}

// Decide decides a request, adds the fields of its response to h, and holds it for its Delay, until ctx is done at the
// longest. Where nothing takes fields, h is nil.
func (d *Decider[R]) Decide(ctx context.Context, request R, h http.Header) Verdict {
	v, err := d.decide(request)
	if err != nil {
		return d.fault(request, err)
	}
	if h != nil {
		// The fields are help for the client: what was closed since has none, and its decision stands.
		_ = d.addFields(h, &v)
	}
	if !v.Allowed {
		d.counts.refused.Add(1)
	} else if delay := v.Decision.Delay + v.Rules.Delay; delay > 0 && !d.watch().sleep(ctx, delay) {
		v.Allowed, v.Gone = false, true
	}
	return v
}

func (d *Decider[R]) decide(request R) (v Verdict, err error) {
	v = Verdict{Outcome: Allowed, Allowed: true, byRules: d.rules != nil, bytes: d.unit == "content-bytes"}
	if v.byRules {
		var attributes Attributes
		if err = guarded("function of attributes", func() { attributes = d.attributes(request) }); err != nil {
			return v, err
		}
		v.Rules, v.rulesHeld = decideByRules(d.rules, attributes)
		v.Allowed, v.Outcome = v.Rules.Allowed, v.Rules.Outcome
	} else {
		key, cost := "", uint32(0)
		err = guarded("function of a key or a cost", func() {
			if key = d.key(request); key != "" {
				cost = d.cost(request)
			}
		})
		if err != nil || key == "" {
			return v, err
		}
		asked := NewRequest(key).Cost(cost).WithNext()
		if d.holds {
			// An error is that of a closed limiter, and its decision says so.
			v.Decision, v.held, _ = d.limiter.ReserveRequest(asked)
		} else {
			v.Decision = d.limiter.Decide(asked)
		}
		v.Allowed, v.Outcome = v.Decision.Allowed, v.Decision.Outcome
	}
	switch v.Outcome {
	case Closed:
		return v, ErrClosed
	case ClockRange:
		return v, ErrClockRange
	}
	return v, nil
}

// guarded calls a function of the program's. Its panic is an error, but the one by which a handler of net/http says that it
// ends.
func guarded(name string, call func()) (err error) {
	defer func() {
		switch said := recover(); said {
		case nil:
		case http.ErrAbortHandler:
			panic(said)
		default:
			err = fmt.Errorf("ratecell: the %s panicked: %v", name, said)
		}
	}()
	call()
	return nil
}

func (d *Decider[R]) fault(request R, err error) Verdict {
	d.counts.faults.Add(1)
	if d.onFault != nil {
		d.onFault(request, err)
	}
	if d.failClosed {
		d.counts.refused.Add(1)
	}
	return Verdict{Allowed: !d.failClosed, Outcome: Closed, byRules: d.rules != nil}
}

func (d *Decider[R]) addFields(h http.Header, v *Verdict) error {
	if v.byRules {
		return d.rules.AddFields(h, d.styles, d.watch().wall(), v.Rules)
	}
	if v.Decision.Outcome == Closed {
		return nil // of a request that is not limited
	}
	return AddFields(h, d.styles, d.watch().wall(), Answer{Limiter: d.limiter, Decision: v.Decision, Name: d.name, Unit: d.unit})
}

// Release gives back the permits of layers in_flight, if the request holds some.
func (v Verdict) Release() {
	v.held.Release()
	v.rulesHeld.Release()
}

// RetryAfter is the time until the same request would be allowed, with no other traffic; 0 if it was not Denied.
func (v Verdict) RetryAfter() time.Duration {
	switch {
	case v.Outcome != Denied:
		return 0
	case v.byRules:
		return v.Rules.RetryAfter
	}
	return v.Decision.RetryAfter
}

// Status is the status of HTTP by which a refusal is answered:
//
//   - 429 Too Many Requests where the Outcome is Denied,
//   - 400 Bad Request where it is UnclearPath, or Never by a limiter: the same request will not be allowed later, and clients
//     repeat what was answered 429; 413 Request Entity Too Large where the unit is content-bytes,
//   - 403 Forbidden where it is Never by rules, as of a rule with "blocked",
//   - 503 Service Unavailable where it could not be decided.
func (v Verdict) Status() int {
	switch {
	case v.Outcome == Denied:
		return http.StatusTooManyRequests
	case v.Outcome == Never && v.byRules:
		return http.StatusForbidden
	case v.Outcome == Never && v.bytes:
		return http.StatusRequestEntityTooLarge
	case v.Outcome == Never || v.Outcome == UnclearPath:
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

// Text is what the refusal says in one line of ASCII, such as "Too many requests: retry after 30 s".
func (v Verdict) Text() string {
	switch {
	case v.Outcome == Denied && v.RetryAfter() < InfDuration:
		seconds := (v.RetryAfter()-1)/time.Second + 1
		return fmt.Sprintf("Too many requests: retry after %d s", seconds)
	case v.Outcome == Denied:
		return "Too many requests"
	case v.Outcome == Never && v.byRules:
		return "The rules never allow it"
	case v.Outcome == Never:
		return "Too large for the rate limit"
	case v.Outcome == UnclearPath:
		return "The path can be read in several ways"
	}
	return "The rate limiter cannot decide"
}

// watch is that of the limiter or the rules.
func (d *Decider[R]) watch() *watch {
	if d.rules != nil {
		return d.rules.watch
	}
	if n := d.limiter.native.Load(); n != nil {
		return n.watch
	}
	return nil
}

// decideByRules reserves where rules may have layers in_flight; otherwise nothing is held.
func decideByRules(rules *Rules, attributes Attributes) (RulesDecision, *RulesReservation) {
	if rules.reserving {
		return rules.Reserve(attributes)
	}
	return rules.Decide(attributes), nil
}

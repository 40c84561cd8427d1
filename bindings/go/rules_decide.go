package ratecell

/*
#include "calls.h"

enum { GO_RULE_CLAIMS = 64, GO_RULE_SHADOWS = 64 };

// What C writes about a request.
typedef struct go_ruled {
    ratecell_rules_answer answer;
    ratecell_rules_claim claims[GO_RULE_CLAIMS];
    ratecell_rules_shadow shadows[GO_RULE_SHADOWS];
} go_ruled;

// Decides a request; with RATECELL_RESERVE there is room for as many held as claims, otherwise held is NULL.
static int32_t go_rules_decide(uintptr_t rules, const char *texts, go_attribute *places, size_t n, uint64_t now_ns,
                               uint32_t flags, ratecell_rules_held *held, go_ruled *ruled) {
    const size_t max_held = held == NULL ? 0 : GO_RULE_CLAIMS;
    ratecell_rules_request request = go_rules_request(texts, places, n, now_ns, flags, held, max_held);
    request.claims = ruled->claims;
    request.max_claims = GO_RULE_CLAIMS;
    request.shadows = ruled->shadows;
    request.max_shadows = GO_RULE_SHADOWS;
    return ratecell_rules_decide((const ratecell_rules *)rules, &request, &ruled->answer);
}

static int32_t go_rules_fields(uintptr_t rules, uint32_t styles, const ratecell_rules_claim *claims, size_t n,
                               uint64_t now_unix_ns, char *buffer, size_t len) {
    return ratecell_rules_fields((const ratecell_rules *)rules, styles, claims, n, now_unix_ns, buffer, len);
}
*/
import "C"

import (
	"net/http"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Attributes is what rules know of a request, by the names that a file uses: method, path (the request target's, as it was
// sent, still encoded), host, client (the key of [Clients]), header:x-api-key in small letters, and those that the file
// lists. One that is not there is absent; an empty value is there. One that the file does not use is passed over.
type Attributes map[string]string

// RulesDecision is the answer of rules to one request. The zero RulesDecision allows nothing.
type RulesDecision struct {
	// Allowed is whether the request may go: Outcome == Allowed.
	Allowed bool
	// Outcome is the gravest of the rules that limit the request; [Allowed] if there is none.
	Outcome Outcome
	// Rule is the name of the rule that refused; of an allowed request, that of the rule which runs out first. Limit,
	// Remaining and ResetAfter are its. Empty, and they are 0, where no rule limits the request, and where the path is
	// unclear.
	Rule string
	// Limit is the most units that can pass the rule at one instant.
	Limit uint64
	// Remaining is the units that the rule would allow at this same instant, after this decision.
	Remaining uint64
	// RetryAfter is the time until the same request would be allowed, with no other traffic on its keys. 0 if it was
	// allowed, InfDuration if it never can be.
	RetryAfter time.Duration
	// ResetAfter is the time until the rule's key is as good as never used.
	ResetAfter time.Duration
	// Delay is how long to hold the allowed request before it goes on: 0 unless a leaky_queue limits it.
	Delay time.Duration
	// Shadows is what shadow rules would have answered, in the order of the file: of more than 64, the first.
	Shadows []Shadow

	claims []C.ratecell_rules_claim
}

// Shadow is what a shadow rule would have answered.
type Shadow struct {
	// Rule is the name of the rule.
	Rule string
	// Outcome is what it would have answered by itself.
	Outcome Outcome
}

// Err is nil where a decision was made, whatever it is, and [ErrClosed] where none was.
func (d RulesDecision) Err() error {
	if d.Outcome == Closed {
		return ErrClosed
	}
	return nil
}

// Decide decides a request now: all limits that apply are charged, or none is. Shadow rules are decided after the others,
// each by itself, and charged if the request is allowed. Of rules that are [Reserving] it panics: expected [Rules.Reserve].
func (r *Rules) Decide(attributes Attributes) RulesDecision {
	return r.decide(attributes, 0, 0)
}

// DecideAt is Decide at nowNs: nanoseconds since the Monday 00:00 UTC before the rules were made, or since [Epoch]. Where no
// rule has a calendar_window, it may be since any instant, as long as all requests have the same.
func (r *Rules) DecideAt(attributes Attributes, nowNs uint64) RulesDecision {
	return r.decide(attributes, C.RATECELL_AT, nowNs)
}

// AddFields adds to a response's header the fields of these styles about the rules that limited its request, each named by
// its rule, as the function [AddFields] does. A decision that was made before a [Rules.Change] has no fields.
//
// The error is of styles that cannot be sent together; of closed rules, [ErrClosed]. Then nothing was added.
func (r *Rules) AddFields(h http.Header, styles Style, now time.Time, d RulesDecision) error {
	n := r.native.Load()
	if n == nil || d.Outcome == Closed {
		return ErrClosed
	}
	if err := styles.check(); err != nil {
		return err
	}
	if len(d.claims) == 0 {
		return nil
	}
	write := func(buffer []byte) C.int32_t {
		return C.go_rules_fields(n.handle(), C.uint32_t(styles), &d.claims[0], C.size_t(len(d.claims)),
			C.uint64_t(unixNs(now)), bytesOf(stringOf(buffer)), C.size_t(len(buffer)))
	}
	buffer := make([]byte, 512)
	length := write(buffer)
	// A Change in between may take the fields away, never add to them.
	if length == C.RATECELL_ENOSPC {
		buffer = make([]byte, write(nil)+1)
		length = write(buffer)
	}
	runtime.KeepAlive(n)
	if length == C.RATECELL_EINVAL {
		return &Error{Status: StatusInvalid, Text: "fields of a decision that is not of these rules: expected one of theirs"}
	}
	if length < 0 {
		return statusError(length)
	}
	addLines(h, string(buffer[:length]), styles)
	return nil
}

// rulesCall is what a call needs, used again by later ones.
type rulesCall struct {
	texts  []byte
	places []C.go_attribute
	ruled  C.go_ruled
}

var rulesCalls = sync.Pool{New: func() any { return new(rulesCall) }}

// beginRules is a call with these attributes, to be put back.
func beginRules(attributes Attributes) *rulesCall {
	call := rulesCalls.Get().(*rulesCall)
	texts, places := call.texts[:0], call.places[:0]
	for name, value := range attributes {
		texts = append(append(texts, name...), value...)
		places = append(places, C.go_attribute{name_len: C.size_t(len(name)), value_len: C.size_t(len(value))})
	}
	// Without attributes there is a place as well.
	call.texts, call.places = append(texts, 0), append(places, C.go_attribute{})
	return call
}

func (r *Rules) decide(attributes Attributes, flags C.uint32_t, nowNs uint64) RulesDecision {
	if r.reserving {
		panic("ratecell: Rules.Decide of rules that are Reserving: it gives no permit that could be released; expected Rules.Reserve")
	}
	d, _ := r.ask(attributes, flags, nowNs, nil)
	return d
}

// ask decides, and writes into held what was charged, if it is not nil; how many claims that are is the number that follows.
func (r *Rules) ask(attributes Attributes, flags C.uint32_t, nowNs uint64, held *heldRow) (RulesDecision, int) {
	n := r.native.Load()
	if n == nil {
		return RulesDecision{RetryAfter: InfDuration}, 0
	}
	call := beginRules(attributes)
	defer rulesCalls.Put(call)
	var first *C.ratecell_rules_held
	if held != nil {
		first = &held[0]
	}
	flags, nowNs = instantOf(r.watch, flags, nowNs)
	status := C.go_rules_decide(n.handle(), bytesOf(stringOf(call.texts)), &call.places[0], C.size_t(len(attributes)),
		C.uint64_t(nowNs), flags, first, &call.ruled)
	runtime.KeepAlive(n)
	d := ruled(status, &call.ruled)
	return d, len(d.claims)
}

func (n *nativeRules) handle() C.uintptr_t {
	return C.uintptr_t(uintptr(unsafe.Pointer(n.rules)))
}

// ruled is the decision that C wrote. Its arguments are right by their types, so an error can only be a bug's.
func ruled(status C.int32_t, c *C.go_ruled) RulesDecision {
	if status < 0 {
		return RulesDecision{RetryAfter: InfDuration}
	}
	answer := &c.answer
	d := RulesDecision{
		Allowed:    status == C.RATECELL_ALLOWED,
		Outcome:    Outcome(status) + Allowed,
		Rule:       C.GoString(&answer.rule[0]),
		Limit:      uint64(answer.limit),
		Remaining:  uint64(answer.remaining),
		RetryAfter: duration(answer.retry_after_ns),
		ResetAfter: duration(answer.reset_after_ns),
		Delay:      duration(answer.delay_ns),
	}
	d.claims = append(d.claims, c.claims[:answer.n_claims]...) // 64 layers at most, so as many claims
	for i := range c.shadows[:least(int(answer.n_shadows), C.GO_RULE_SHADOWS)] {
		shadow := &c.shadows[i]
		d.Shadows = append(d.Shadows, Shadow{Rule: C.GoString(&shadow.rule[0]), Outcome: Outcome(shadow.outcome) + Allowed})
	}
	return d
}

func least(a, b int) int {
	if a < b {
		return a
	}
	return b
}

package ratecell

/*
#include "calls.h"

// The lengths of an answer's texts, which follow each other; a name and a unit have a NUL behind them. -1: none.
typedef struct go_label {
    int64_t name;
    int64_t unit;
    int64_t partition;
} go_label;

enum { GO_ANSWERS = 64 };

// Writes the fields of n answers, GO_ANSWERS or fewer.
static int32_t go_fields(uint32_t styles, const go_limiter *limiters, const ratecell_decision *decisions,
                         const go_label *labels, const char *texts, size_t n, uint64_t now_unix_ns, char *buffer,
                         size_t len) {
    ratecell_answer answers[GO_ANSWERS];
    for (size_t i = 0; i < n; i++) {
        answers[i] = (ratecell_answer){.limiter = limiter_of(limiters[i]), .decision = &decisions[i]};
        if (labels[i].name >= 0) {
            answers[i].name = texts;
            texts += labels[i].name + 1;
        }
        if (labels[i].unit >= 0) {
            answers[i].unit = texts;
            texts += labels[i].unit + 1;
        }
        if (labels[i].partition >= 0) {
            answers[i].partition = texts;
            answers[i].partition_len = labels[i].partition;
            texts += labels[i].partition;
        }
    }
    return ratecell_fields(styles, answers, n, now_unix_ns, buffer, len);
}
*/
import "C"

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Answer is a limiter's decision, with the names of its policy, of which [AddFields] writes.
type Answer struct {
	// Limiter is the limiter that decided.
	Limiter *Limiter
	// Decision is what it decided. Of a request with [Request.WithNext], the fields are as exact as they can be.
	Decision Decision
	// Name is what clients know the policy by in RateLimit and RateLimit-Policy: at most 256 characters of printable
	// ASCII; of several layers, name-1, name-2 and so on. Without ("") each layer is named by its own text.
	Name string
	// Unit is what is counted: "requests", "content-bytes" or "concurrent-requests". Without ("") it is requests.
	Unit string
	// Partition is the clients that the limit is for, at most 256 bytes; nil is none. Every client that asks reads it:
	// put no address in it, nor a hash of one without a key.
	Partition []byte
}

// AddFields adds to a response's header the fields of these styles that tell the decisions of one or more limiters, at
// most 64, at now, which the styles read that give an instant. Of [StyleDraft11] they are
//
//	RateLimit-Policy: "api";q=100;w=60     each layer's quota and window in seconds
//	RateLimit: "api";r=50;t=30             what remains, and when there is more
//	Retry-After: 30                        of a denial alone
//
// Times are whole seconds from the decision, rounded up. A list (RateLimit-Policy, RateLimit, and RateLimit-Limit of
// [StyleDraft03]) is added to what the header has of it; of two Retry-After the greater stays; other fields are
// replaced. What a cache may keep of a response with these fields is for the caller to say, in Cache-Control.
//
// The error is of styles that cannot be sent together, of a name, unit or partition that is none, or of a decision
// that is not its limiter's; of a closed limiter, [ErrClosed]. Then nothing was added.
func AddFields(h http.Header, styles Style, now time.Time, answers ...Answer) error {
	if len(answers) > C.GO_ANSWERS {
		return fmt.Errorf("ratecell: fields of %d answers: expected at most %d", len(answers), C.GO_ANSWERS)
	}
	if len(answers) == 0 {
		return styles.check()
	}
	var natives [C.GO_ANSWERS]*native
	f := fieldsCalls.Get().(*fieldsCall)
	defer fieldsCalls.Put(f)
	f.limiters, f.decisions, f.labels, f.texts = f.limiters[:0], f.decisions[:0], f.labels[:0], f.texts[:0]
	for i := range answers {
		n, err := f.add(&answers[i])
		if err != nil {
			return err
		}
		natives[i] = n
	}
	text, status := f.write(styles, unixNs(now))
	runtime.KeepAlive(&natives)
	switch {
	case status == C.RATECELL_ENAME:
		return badLabel(answers)
	case status == C.RATECELL_EINVAL:
		if err := styles.check(); err != nil {
			return err
		}
		return &Error{Status: StatusInvalid, Text: "fields of a decision that is not its limiter's: expected one of its outcome and layers"}
	case status < 0:
		return statusError(status)
	}
	addLines(h, text, styles)
	return nil
}

// fieldsCall is what a call needs beside the answers, used again by later ones.
type fieldsCall struct {
	limiters  []C.go_limiter
	decisions []C.ratecell_decision
	labels    []C.go_label
	texts     []byte
	buffer    []byte
}

var fieldsCalls = sync.Pool{New: func() any { return &fieldsCall{buffer: make([]byte, 512)} }}

// add adds an answer; its limiter must be kept alive until the call is over.
func (f *fieldsCall) add(a *Answer) (*native, error) {
	if a.Limiter == nil {
		return nil, fmt.Errorf("ratecell: fields of an answer without a limiter: expected one")
	}
	n := a.Limiter.native.Load()
	if n == nil || a.Decision.Outcome == Closed {
		return nil, ErrClosed
	}
	// C ends a text at its first NUL.
	if strings.IndexByte(a.Name, 0) >= 0 || strings.IndexByte(a.Unit, 0) >= 0 {
		return nil, badLabel([]Answer{*a})
	}
	label := C.go_label{name: -1, unit: -1, partition: -1}
	if a.Name != "" {
		label.name = C.int64_t(len(a.Name))
		f.texts = append(append(f.texts, a.Name...), 0)
	}
	if a.Unit != "" {
		label.unit = C.int64_t(len(a.Unit))
		f.texts = append(append(f.texts, a.Unit...), 0)
	}
	if a.Partition != nil {
		label.partition = C.int64_t(len(a.Partition))
		f.texts = append(f.texts, a.Partition...)
	}
	f.limiters = append(f.limiters, n.handle())
	f.decisions = append(f.decisions, a.Decision.toC())
	f.labels = append(f.labels, label)
	return n, nil
}

// write returns the fields as lines, or a status.
func (f *fieldsCall) write(styles Style, nowUnixNs uint64) (string, C.int32_t) {
	// An empty partition at the end is a place as well.
	f.texts = append(f.texts, 0)
	write := func(buffer []byte) C.int32_t {
		return C.go_fields(C.uint32_t(styles), &f.limiters[0], &f.decisions[0], &f.labels[0], bytesOf(stringOf(f.texts)),
			C.size_t(len(f.limiters)), C.uint64_t(nowUnixNs), bytesOf(stringOf(buffer)), C.size_t(len(buffer)))
	}
	length := write(f.buffer)
	if length == C.RATECELL_ENOSPC {
		f.buffer = make([]byte, write(nil)+1)
		length = write(f.buffer)
	}
	if length < 0 {
		return "", length
	}
	return string(f.buffer[:length]), length
}

// addLines adds lines of `Name: value`.
func addLines(h http.Header, lines string, styles Style) {
	for lines != "" {
		var line string
		line, lines, _ = strings.Cut(lines, "\n")
		name, value, _ := strings.Cut(line, ": ")
		name = http.CanonicalHeaderKey(name)
		switch {
		case name == "Ratelimit-Policy", name == "Ratelimit", name == "Ratelimit-Limit" && styles&StyleDraft03 != 0:
			h[name] = append(h[name], value)
		case name == "Retry-After" && !later(value, h.Get(name)):
		default:
			h[name] = []string{value}
		}
	}
}

// later is whether the first Retry-After is to replace the second.
func later(seconds, before string) bool {
	there, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		return true
	}
	own, err := strconv.ParseUint(seconds, 10, 64)
	return err == nil && own > there
}

func badLabel(answers []Answer) error {
	text := "fields: expected a name of at most 256 characters of printable ASCII, one of the three units, and a partition of at most 256 bytes; got"
	for i := range answers {
		a := &answers[i]
		text += fmt.Sprintf(" name %q, unit %q, partition of %d bytes;", a.Name, a.Unit, len(a.Partition))
	}
	return &Error{Status: StatusName, Text: strings.TrimSuffix(text, ";")}
}

// unixNs is the nanoseconds since 1970, as near to them as C's can be.
func unixNs(t time.Time) uint64 {
	seconds := t.Unix()
	switch {
	case seconds < 0:
		return 0
	case uint64(seconds) > (math.MaxUint64-uint64(t.Nanosecond()))/1e9:
		return math.MaxUint64
	}
	return uint64(seconds)*1e9 + uint64(t.Nanosecond())
}

package ratecell

/*
#include "calls.h"

static int32_t go_rules_new(const char *text, size_t len, const char *file, go_config options, char *why,
                            size_t why_len, ratecell_rules **rules) {
    ratecell_config config = config_of(options, why, why_len);
    config.file = file;
    return ratecell_rules_new(text, len, &config, rules);
}
*/
import "C"

import (
	"errors"
	"runtime"
	"sync/atomic"
)

// Rules limits requests by a file of rules, which says which limits apply to which requests: docs/RULES.md describes it.
// [NewRules] makes one, and [OpenRules] one in a file; the zero Rules is a closed one. Any number of goroutines may call any of its methods at once. It
// must not be copied.
type Rules struct {
	native    atomic.Pointer[nativeRules] // nil: closed
	tables    *table
	reserving bool
	watch     *watch // nil: the system's clock
}

// nativeRules is the rules of the C library. They are freed as a limiter is: see native.
type nativeRules struct {
	rules *C.ratecell_rules
}

// NewRules makes limits by the text of a file of rules, in TOML, with all its memory: one table for all
// rules, with room for [MaxKeys]. It is this process's alone. A key counts once for each layer of the policy that it is
// limited by. Of the options, [MaxKeys], [WhenFull], [Epoch], [Reserving] and [WithClock] have a use here; others are refused, and
// so is [FullShare].
//
// The error of a file with a fault is an [*Error] of [StatusRules], and names the line, the rule, the field, what was wrong
// and what was expected. Another is of an option, or says that there is no memory.
func NewRules(text string, options ...Option) (*Rules, error) {
	return makeRules(text, "", options)
}

// OpenRules makes limits by the text of a file of rules, whose keys are in the file at path, which it makes if there is none.
// All that open the same file admit together exactly what the rules allow, in any process and any language. The file is as
// that of [Open].
//
// It knows each limit by the name of its rule and tier. To which requests it applies, its key and its cost are those of each
// process's own text. Rules of other names are added to it, and none is ever taken away: all that the file has seen have 4,094
// layers together at most. A rule that has another policy there is an [*Error] of [StatusRegionPolicy], unless an option is
// [Following] or [Changing]. [Rules.Change] is for all processes.
//
// Of the options, [MaxKeys], [WhenFull], [Reserving], [Following] and [Changing] have a use here. The error is one of NewRules,
// or of Open.
func OpenRules(path, text string, options ...Option) (*Rules, error) {
	if path == "" {
		return nil, errors.New("ratecell: the path is empty: expected the name of a file")
	}
	return makeRules(text, path, options)
}

func makeRules(rulesText, path string, options []Option) (*Rules, error) {
	if err := text("path", path); err != nil {
		return nil, err
	}
	config, err := configured(options)
	if err != nil {
		return nil, err
	}
	if config.clock != nil && path != "" {
		return nil, errClockOfFile
	}
	watch := config.watched()
	var file *C.char
	if path != "" {
		file = bytesOf(path + "\x00")
	}
	var rules *C.ratecell_rules
	why := sentence(rulesText, path)
	status := C.go_rules_new(bytesOf(rulesText), C.size_t(len(rulesText)), file, config.toC(),
		bytesOf(stringOf(why)), C.size_t(len(why)), &rules)
	if status < 0 {
		refused := explained(status, why)
		if refused.Status == StatusFile {
			refused.Err = openError(path, refused.Text)
		}
		return nil, refused
	}
	n := &nativeRules{rules: rules}
	runtime.SetFinalizer(n, func(n *nativeRules) { C.ratecell_rules_free(n.rules) })
	r := &Rules{tables: new(table), reserving: config.flags&C.RATECELL_RESERVATIONS != 0, watch: watch}
	r.tables.limiters.Add(1)
	r.native.Store(n)
	return r, nil
}

// Change limits by the text of another file from now on, while other goroutines decide. Each request is decided by the old
// file or by the new one. A rule goes on with what it has counted if its name and its key stay: where the numbers of its
// limit change, what each key has used stays used, in units. With another algorithm, another window or another number of
// layers it begins anew. Of rules that [OpenRules] made the limits change for all processes, each of which goes on with its own
// text; rules that are not in the new text stay in the file.
//
// The error is one of [NewRules], [ErrClosed], or an [*Error] of [StatusChange] if the time is past the last that a new limit
// can decide at; then the rules in force stay.
func (r *Rules) Change(text string) error {
	return r.change(text, 0, 0)
}

// ChangeAt is Change at nowNs, as [Rules.DecideAt]: for programs that give every request its time.
func (r *Rules) ChangeAt(text string, nowNs uint64) error {
	return r.change(text, C.RATECELL_AT, nowNs)
}

func (r *Rules) change(text string, flags uint32, nowNs uint64) error {
	n := r.native.Load()
	if n == nil {
		return ErrClosed
	}
	flags, nowNs = instantOf(r.watch, flags, nowNs)
	why := sentence(text)
	status := C.ratecell_rules_change(n.rules, bytesOf(text), C.size_t(len(text)), C.uint32_t(flags), C.uint64_t(nowNs),
		bytesOf(stringOf(why)), C.size_t(len(why)))
	runtime.KeepAlive(n)
	if status < 0 {
		return explained(status, why)
	}
	return nil
}

// Close ends the limits: from here on every request is answered [Closed]. Calls under way go on as if they had come before.
// It may be called more than once, and always returns nil. The memory is given back as [Limiter.Close] says.
func (r *Rules) Close() error {
	if r.native.Swap(nil) != nil {
		r.tables.leave()
	}
	return nil
}

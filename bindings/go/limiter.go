package ratecell

/*
#include "calls.h"

// Writes the bytes of the table, too: 0 of a sliding_log, whose memory grows with its use.
static int32_t go_new(const char *policy, go_config options, char *why, size_t why_len, ratecell_limiter **limiter,
                      size_t *bytes) {
    ratecell_config config = config_of(options, why, why_len);
    int32_t status = ratecell_limiter_new(policy, &config, limiter);
    if (status >= 0) {
        *bytes = ratecell_region_size(policy, &config);
    }
    return status;
}

static int32_t go_open(const char *path, const char *policy, go_config options, char *why, size_t why_len,
                       ratecell_limiter **limiter) {
    ratecell_config config = config_of(options, why, why_len);
    return ratecell_limiter_open(path, policy, &config, limiter);
}

static int32_t go_with_policy(const ratecell_limiter *first, const char *policy, char *why, size_t why_len,
                              ratecell_limiter **limiter) {
    ratecell_config config = config_of((go_config){ 0 }, why, why_len);
    return ratecell_limiter_with_policy(first, policy, &config, limiter);
}
*/
import "C"

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// Limiter limits keys by a policy. [New], [Open] and [Limiter.WithPolicy] make one; the zero Limiter is a
// closed one. Any number of goroutines may call any of its methods at once. It must not be copied.
type Limiter struct {
	native atomic.Pointer[native] // nil: closed
	table  *table
	policy atomic.Pointer[string] // of a closed one
}

// New makes a limiter whose keys are this process's alone, with all its memory.
//
// The error says what is wrong with the policy or an option, or that there is no memory.
func New(policy string, options ...Option) (*Limiter, error) {
	if err := text("policy", policy); err != nil {
		return nil, err
	}
	config, err := configured(options)
	if err != nil {
		return nil, err
	}
	watch := config.watched()
	var limiter *C.ratecell_limiter
	var bytes C.size_t
	why := sentence(policy)
	status := C.go_new(bytesOf(policy+"\x00"), config.toC(),
		bytesOf(stringOf(why)), C.size_t(len(why)), &limiter, &bytes)
	if status < 0 {
		return nil, explained(status, why)
	}
	return newLimiter(limiter, &table{bytes: uint64(bytes)}, watch), nil
}

// Open makes a limiter whose keys are in a file, which it makes if there is none. All that open the same file
// limit together, in any process and any language; the algorithm, the rate and the windows are the file's, and so is the
// secret of its hash. The burst, capacity or limit of a window may be another, and is then this limiter's alone. Another rate
// is refused with [StatusRegionPolicy]: with [Following] the policy of the file holds, and with [Changing] this one, for all.
// [Limiter.WithPolicy] makes a limiter with a rate of its own.
//
// With the policy "" the limiter has the one of the file, and follows its changes; a file that is not there yet is then an
// error.
//
// A new file can be read and written by its owner alone. It outlives the processes and a restart of the
// machine. A file that is anything else is refused and left as it is, and so is a sliding_log, which cannot be
// shared. Nobody may shorten the file while it is used.
//
// A file that `ratecell sync` made has the units of many machines, with the policy of their store: give that one, or "". What no lease of
// this machine answers waits, in its goroutine, for at most 50 ms: see [OnMissWait] and [Request.WithoutWaiting].
//
// The error of a file that cannot be opened wraps the system's: it is [fs.ErrNotExist] where the folder is absent,
// and [fs.ErrPermission] where the file is another user's.
func Open(path, policy string, options ...Option) (*Limiter, error) {
	if err := text("path", path); err != nil {
		return nil, err
	}
	if err := text("policy", policy); err != nil {
		return nil, err
	}
	config, err := configured(options)
	if err != nil {
		return nil, err
	}
	if config.clock != nil {
		return nil, errClockOfFile
	}
	var limiter *C.ratecell_limiter
	why := sentence(path, policy)
	var own *C.char
	if policy != "" {
		own = bytesOf(policy + "\x00")
	}
	status := C.go_open(bytesOf(path+"\x00"), own, config.toC(),
		bytesOf(stringOf(why)), C.size_t(len(why)), &limiter)
	if status < 0 {
		refused := explained(status, why)
		if refused.Status == StatusFile {
			refused.Err = openError(path, refused.Text)
		}
		return nil, refused
	}
	file := new(table)
	if info, err := os.Stat(path); err == nil {
		file.bytes = uint64(info.Size())
	}
	return newLimiter(limiter, file, nil), nil
}

// WithPolicy makes another limiter on the same keys, with another rate, burst, capacity or limit: a tier. The algorithm
// and the windows stay. The two are closed each on its own, in any order. [Limiter.Change] changes the policy of both.
func (l *Limiter) WithPolicy(policy string) (*Limiter, error) {
	if err := text("policy", policy); err != nil {
		return nil, err
	}
	n := l.native.Load()
	if n == nil {
		return nil, ErrClosed
	}
	var other *C.ratecell_limiter
	why := sentence(policy, n.policy())
	status := C.go_with_policy(n.limiter, bytesOf(policy+"\x00"), bytesOf(stringOf(why)), C.size_t(len(why)), &other)
	runtime.KeepAlive(n)
	if status < 0 {
		return nil, explained(status, why)
	}
	return newLimiter(other, l.table, n.watch), nil
}

func newLimiter(limiter *C.ratecell_limiter, table *table, watch *watch) *Limiter {
	table.limiters.Add(1)
	l := &Limiter{table: table}
	l.native.Store(newNative(limiter, watch))
	return l
}

// Policy is the text of the policy in force, with one space between its words, the shortest periods and its options in one
// order: the limiter's own, or what a [Limiter.Change] made of it. A closed limiter has its last, too.
func (l *Limiter) Policy() string {
	if n := l.native.Load(); n != nil {
		return n.policy()
	}
	if last := l.policy.Load(); last != nil {
		return *last
	}
	return ""
}

// Now is the limiter's own time, in nanoseconds since its epoch, by CLOCK_MONOTONIC: what [Limiter.CheckAt] and
// [Request.At] take. 0 of a closed limiter.
func (l *Limiter) Now() uint64 {
	n := l.native.Load()
	if n == nil {
		return 0
	}
	return n.now()
}

// Epoch is the zero of the limiter's own time: the Monday 00:00 UTC before it, or its file, was made, to which
// the windows of aligned policies keep. The zero Time of a closed limiter.
func (l *Limiter) Epoch() time.Time {
	n := l.native.Load()
	if n == nil {
		return time.Time{}
	}
	return time.Unix(0, int64(n.epoch())).UTC()
}

// Close ends the limiter: from here on it allows nothing, and what waits in Wait returns [ErrClosed]. Calls
// under way go on as if they had come before. A file stays as it is. It may be called more than once, and
// always returns nil.
//
// The memory is given back by the first garbage collection that finds no call under way. Close starts one in the
// background when the closed limiters that wait for it have 16 MB together, or a quarter of the heap if that is
// more. A limiter that is never closed gives its memory back when a collection finds that nothing refers to it. The
// runtime makes a collection every two minutes at least.
func (l *Limiter) Close() error {
	if n := l.native.Load(); n != nil {
		last := n.policy()
		l.policy.Store(&last)
	}
	if n := l.native.Swap(nil); n != nil {
		n.closeLine()
		l.table.leave()
	}
	return nil
}

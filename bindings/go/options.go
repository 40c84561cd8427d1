package ratecell

/*
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"time"
)

// Option is one setting of [New] and [Open].
type Option func(*config) error

type config struct {
	maxKeys uint64
	full    uint64
	miss    uint64
	wait    uint64
	failure uint64
	epoch   int64
	flags   uint64
	clock   Clock // nil: the system's
}

// toC is the config for C, which puts it together: its own has a pointer.
func (c config) toC() C.go_config {
	return C.go_config{
		max_keys:   C.uint64_t(c.maxKeys),
		when_full:  C.uint64_t(c.full),
		on_miss:    C.uint64_t(c.miss),
		wait_ns:    C.uint64_t(c.wait),
		on_failure: C.uint64_t(c.failure),
		epoch_s:    C.int64_t(c.epoch),
		flags:      C.uint64_t(c.flags),
	}
}

// MaxKeys sets the keys that have room at once, 1 or more. Each layer of the policy takes about 26 bytes a key.
// Without it there is room for 100,000, or in a file that is there, for as many as it has; a file made for
// another number is refused.
func MaxKeys(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("ratecell: MaxKeys(%d): expected 1 or more", n)
		}
		c.maxKeys = uint64(n)
		return nil
	}
}

// Epoch sets the zero of the limiter's times, in whole seconds; without it that is the Monday 00:00 UTC before the limiter
// is made. It is for those who give every request its time, such as that of a record in a log: windows of a calendar are
// counted from it, and aligned windows are aligned to it. It is not 1970-01-01 00:00 UTC, which is no epoch to the C library.
// Only [New] takes it: a file has its own.
func Epoch(epoch time.Time) Option {
	return func(c *config) error {
		if epoch.Unix() == 0 {
			return fmt.Errorf("ratecell: Epoch(%v): expected another second than the first of 1970", epoch)
		}
		c.epoch = epoch.Unix()
		return nil
	}
}

// Full is what becomes of a new key when all places for it are in use, by keys that still have something to
// remember.
type Full int

const (
	// FullEvict: the key with the least left to remember goes; what it is forgiven is counted in Stats. The
	// only answer by which more may pass than the policy allows, and no more than that count. The default.
	FullEvict Full = C.RATECELL_FULL_EVICT
	// FullShare: the newcomer is charged to a state that all newcomers there share, until it has drained.
	// May deny too much, never allows too much.
	FullShare Full = C.RATECELL_FULL_SHARE
	// FullDeny: the newcomer is denied, until a place may come free.
	FullDeny Full = C.RATECELL_FULL_DENY
	// FullAllow: the newcomer is allowed, and not charged.
	FullAllow Full = C.RATECELL_FULL_ALLOW
)

// WhenFull sets what becomes of a new key for which there is no room. A file that is there keeps what it was made
// with: FullEvict, as the default, takes whatever that is; any other must be the same.
func WhenFull(full Full) Option {
	return func(c *config) error {
		if full < FullEvict || full > FullAllow {
			return fmt.Errorf("ratecell: WhenFull(%d): expected FullEvict, FullShare, FullDeny or FullAllow", full)
		}
		c.full = uint64(full)
		return nil
	}
}

// OnMissWait sets how long a request waits for the store if no lease of this machine answers it; it is denied afterwards.
// Without it that is 50 ms. For a file that `ratecell sync` made, whose units are those of many machines; of any other
// limiter it is refused, as are [OnMissDeny] and [OnFailureOpen].
func OnMissWait(most time.Duration) Option {
	return func(c *config) error {
		if most <= 0 {
			return fmt.Errorf("ratecell: OnMissWait(%v): expected a time above 0, or OnMissDeny", most)
		}
		c.miss, c.wait = C.RATECELL_MISS_WAIT, uint64(most)
		return nil
	}
}

// OnMissDeny denies at once what no lease of this machine answers, and has the store asked for those that follow. A key
// that is seldom asked for is then never allowed.
func OnMissDeny() Option {
	return func(c *config) error {
		c.miss, c.wait = C.RATECELL_MISS_DENY, 0
		return nil
	}
}

// OnFailureOpen allows what no lease of this machine answers while the store does not answer either, or no agent is
// there. It is not charged, and counted in Stats as Opened. Without this option it is denied.
func OnFailureOpen() Option {
	return func(c *config) error {
		c.failure = C.RATECELL_FAILURE_OPEN
		return nil
	}
}

// Reserving makes [Rules] whose requests are all reserved, by [Rules.Reserve], so that rules may count requests in_flight.
// Without it [NewRules] and [Rules.Change] refuse such a file: [Rules.Decide] gives no permit that could be released. Only
// [NewRules] takes it: each [Limiter] reserves.
func Reserving() Option {
	return func(c *config) error {
		c.flags |= C.RATECELL_RESERVATIONS
		return nil
	}
}

// Names keeps the names of denied keys in the file, and counts denials, so that `ratecell top` shows who is denied. It takes
// 256 KiB. Whoever can read the file can read those keys, which may be personal data. A file that is there keeps what it was
// made with: one without names is refused, and one with names keeps them also without this option. Only [Open] takes it:
// nobody can look into a limiter of [New].
func Names() Option {
	return func(c *config) error {
		c.flags |= C.RATECELL_NAMES
		return nil
	}
}

// Following makes [Open] take the policy of the file where that is another, and [OpenRules] where a rule has another one
// there.
func Following() Option {
	return func(c *config) error {
		c.flags |= C.RATECELL_FOLLOW
		return nil
	}
}

// Changing makes [Open] change the policy of the file where that is another, for all processes, as [Limiter.Change] does,
// and [OpenRules] where a rule has another one there, as [Rules.Change] does.
func Changing() Option {
	return func(c *config) error {
		c.flags |= C.RATECELL_CHANGE
		return nil
	}
}

func configured(options []Option) (config, error) {
	var c config
	for i, option := range options {
		if option == nil {
			return config{}, fmt.Errorf("ratecell: option %d of %d is nil: expected one such as MaxKeys(1000)", i+1, len(options))
		}
		if err := option(&c); err != nil {
			return config{}, err
		}
	}
	return c, nil
}

package ratecell

/*
#include "library.h"
*/
import "C"

import "fmt"

// Option is one setting of [New] and [Open].
type Option func(*config) error

type config struct {
	maxKeys uint64
	full    uint64
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

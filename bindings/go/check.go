//go:build cgo

package ratecell

import "time"

// Allow decides one unit of a key now, and charges it if it is allowed. It is false of a closed limiter.
func (l *Limiter) Allow(key string) bool {
	return l.AllowN(key, 1)
}

// AllowN decides cost units of a key now, all of them or none, and charges them if they are allowed. A cost of
// 0 asks and charges nothing. It is false of a closed limiter.
func (l *Limiter) AllowN(key string, cost uint32) bool {
	n := l.native.Load()
	return n != nil && n.allow(key, cost)
}

// Check decides cost units of a key now, all of them or none, and charges them if they are allowed. A cost of 0
// asks and charges nothing.
//
// A closed limiter allows nothing: the decision's Outcome is Closed, and its Err is [ErrClosed].
func (l *Limiter) Check(key string, cost uint32) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.check(key, cost)
}

// CheckAt is Check at nowNs, nanoseconds since any instant, as long as all who share the limiter mean the same.
func (l *Limiter) CheckAt(key string, cost uint32, nowNs uint64) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.checkAt(key, cost, nowNs)
}

// CheckWithin is Check, but what would be allowed with a Delay of more than maxDelay is denied and charges nothing:
// its RetryAfter is when the Delay is no longer. It is for callers who can hold a request only so long. Only a
// leaky_queue has delays; a maxDelay below 0 is 0.
func (l *Limiter) CheckWithin(key string, cost uint32, maxDelay time.Duration) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.checkWithin(key, cost, maxDelay)
}

// CheckWithinAt is CheckWithin at nowNs.
func (l *Limiter) CheckWithinAt(key string, cost uint32, maxDelay time.Duration, nowNs uint64) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.checkWithinAt(key, cost, maxDelay, nowNs)
}

// CheckBytes is Check of a key that is bytes, without a copy of them. They must not change during the call. The
// same bytes are the same key as in a string.
func (l *Limiter) CheckBytes(key []byte, cost uint32) Decision {
	return l.Check(stringOf(key), cost)
}

// CheckBytesAt is CheckBytes at nowNs.
func (l *Limiter) CheckBytesAt(key []byte, cost uint32, nowNs uint64) Decision {
	return l.CheckAt(stringOf(key), cost, nowNs)
}

// Peek says what a check of a key would see now, and writes nothing: the decision's Remaining is the answer.
// It is Allowed, but where the clock has stepped back to before the key's state.
func (l *Limiter) Peek(key string) Decision {
	return l.Check(key, 0)
}

// PeekAt is Peek at nowNs.
func (l *Limiter) PeekAt(key string, nowNs uint64) Decision {
	return l.CheckAt(key, 0, nowNs)
}

// Charge charges cost units of a key now that have been spent already, whether or not they would be allowed: as
// many as there is room for, so that the key is at most full. It is for what is known only when it is over, such
// as a response's size, and for refusals that are to count. It returns what Peek would afterwards.
func (l *Limiter) Charge(key string, cost uint32) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.charge(key, cost)
}

// ChargeAt is Charge at nowNs.
func (l *Limiter) ChargeAt(key string, cost uint32, nowNs uint64) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.chargeAt(key, cost, nowNs)
}

// Forget makes a key as if it had never been seen, and tells whether there was anything to forget. What it was
// charged on a state shared under [FullShare] stays.
func (l *Limiter) Forget(key string) bool {
	n := l.native.Load()
	if n == nil {
		return false
	}
	held := n.forget(key)
	n.changed(key)
	return held
}

//go:build cgo

package ratecell

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

// Check decides one unit of a key now, and charges it if it is allowed.
//
// A closed limiter allows nothing: the decision's Outcome is Closed, and its Err is [ErrClosed].
func (l *Limiter) Check(key string) Decision {
	return l.CheckN(key, 1)
}

// CheckN is Check of cost units, all of them or none. A cost of 0 asks and charges nothing.
func (l *Limiter) CheckN(key string, cost uint32) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.check(key, cost)
}

// CheckAt is CheckN at nowNs, nanoseconds since any instant, as long as all who share the limiter mean the same.
func (l *Limiter) CheckAt(key string, cost uint32, nowNs uint64) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.checkAt(key, cost, nowNs)
}

// Peek returns what a check of a key would see now, and changes no key's state: the decision's Remaining is the answer.
// It is Allowed, except where the clock has stepped back to before the key's state.
func (l *Limiter) Peek(key string) Decision {
	return l.CheckN(key, 0)
}

// Decide decides a request, and charges it if it is allowed: a check of a key or of a hash, now or at an instant, within
// a delay, or of units that have been spent already. A closed limiter's decision is as that of Check.
func (l *Limiter) Decide(request Request) Decision {
	n := l.native.Load()
	if n == nil {
		return undecided()
	}
	return n.decide(&request)
}

// Forget makes a key as if it had never been seen, and reports whether there was anything to forget. What it was
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

package ratecell

/*
#include "library.h"
*/
import "C"

import "runtime"

// Change limits by another policy from now on, here and in every other limiter of the same keys, in all processes, while
// other goroutines decide. What each key has used stays used, in units: a raised limit lets those go on who were exhausted,
// a lowered one forgives nothing, and changing forth and back gives nobody a unit more. A policy that decides as the one in
// force does changes nothing.
//
// Rate, burst, capacity, limit and, of a calendar, the zone may change; the number of layers, their algorithms and the
// lengths of windows may not. gcra, leaky_meter, leaky_queue and a continuous token_bucket may follow each other.
//
// A limiter that [Limiter.WithPolicy] made, or that opened the file with another policy, keeps its own burst, capacity or
// limit where that was another than the one in force, and takes the rate of the new policy.
//
// Those who wait in this limiter's [Limiter.Wait] ask again at once, and one whose cost is above the new capacity gets
// [ErrNever]. Those who wait in another limiter of the same keys ask again when they would have gone by the policy before, or
// when another caller begins to wait there.
//
// Each key is converted when it is next seen. Every third change reads and writes the whole table: in tens of milliseconds
// for ten million keys.
//
// The error is [ErrClosed], or an [*Error] of [StatusChange] if the policy cannot follow the one in force, of a policy's
// status if it is none or does not fit, of [StatusStore] if the units are those of many machines and the store does not do it, or of [StatusFile]. Then
// nothing has changed.
func (l *Limiter) Change(policy string) error {
	return l.change(policy, 0, 0)
}

// ChangeAt is Change at nowNs, as [Limiter.CheckAt]: for programs that give every request its time.
func (l *Limiter) ChangeAt(policy string, nowNs uint64) error {
	return l.change(policy, C.RATECELL_AT, nowNs)
}

func (l *Limiter) change(policy string, flags uint32, nowNs uint64) error {
	if err := text("policy", policy); err != nil {
		return err
	}
	n := l.native.Load()
	if n == nil {
		return ErrClosed
	}
	flags, nowNs = instantOf(n.watch, flags, nowNs)
	why := sentence(policy, n.policy())
	status := C.ratecell_limiter_change(n.limiter, bytesOf(policy+"\x00"), C.uint32_t(flags), C.uint64_t(nowNs),
		bytesOf(stringOf(why)), C.size_t(len(why)))
	runtime.KeepAlive(n)
	if status < 0 {
		return explained(status, why)
	}
	n.policyChanged()
	return nil
}

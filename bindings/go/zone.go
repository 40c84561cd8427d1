package ratecell

/*
#include "calls.h"

static int32_t go_zone_new(go_limiter limiter, const char *name, go_zone *made) {
    ratecell_zone *zone = NULL;
    int32_t status = ratecell_zone_new(limiter_of(limiter), name, &zone);
    *made = (go_zone)zone;
    return status;
}

static void go_zone_free(go_zone zone) {
    ratecell_zone_free((ratecell_zone *)zone);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
)

// Zone is a time zone, ready for requests to a limiter whose policy has tz=caller: it has the instants at which that
// policy's windows begin in the zone, so that a decision computes none. [Limiter.Zone] makes one; the zero Zone is no zone.
//
// Any number of goroutines may use it, for every limiter of the same period, at, week, day, epoch and horizon. It outlives
// the limiter that made it. A copy of it is the same zone. It gives its memory back when nothing refers to it or to a copy
// any more.
type Zone struct {
	native *nativeZone // nil: none
	name   string
}

// nativeZone is a zone of the C library. It is freed when nothing refers to it any more, so that each copy of a Zone holds
// it.
type nativeZone struct {
	zone C.go_zone
}

// errZone is of a request whose zone is not one of its limiter.
var errZone = errors.New("ratecell: a request names a zone that its limiter does not take: expected one of the limiter's Zone, and none without tz=caller")

// Zone makes the time zone of this name ready for requests to this limiter, whose policy has tz=caller: a name of the time
// zone database such as Asia/Tokyo, UTC, or an offset such as +05:30. It takes up to a millisecond, and about 40 KB for
// days: make each zone once.
//
// The error is [ErrClosed], or of Status [StatusPolicyBadZone]: there is no such zone, or the policy names its zone itself.
func (l *Limiter) Zone(name string) (*Zone, error) {
	if err := text("zone", name); err != nil {
		return nil, err
	}
	n := l.native.Load()
	if n == nil {
		return nil, ErrClosed
	}
	var made C.go_zone
	status := C.go_zone_new(n.handle(), bytesOf(name+"\x00"), &made)
	runtime.KeepAlive(n)
	if status < 0 {
		err := statusError(status)
		err.Text = fmt.Sprintf("%q is no zone for requests to %q: expected the name of a time zone, and a policy with tz=caller", name, l.Policy())
		return nil, err
	}
	native := &nativeZone{zone: made}
	runtime.SetFinalizer(native, func(n *nativeZone) { C.go_zone_free(n.zone) })
	return &Zone{native: native, name: name}, nil
}

// String is the name that the zone was made with.
func (z *Zone) String() string {
	return z.name
}

// handle is 0 of no zone.
func (z *Zone) handle() C.go_zone {
	if z == nil || z.native == nil {
		return 0
	}
	return z.native.zone
}

package ratecell

/*
#include "library.h"
#include <stdlib.h>

// The delay of a cost on a key that was never used, found in a table made for that.
static uint64_t go_delay_alone(const char *policy, uint32_t cost) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter;
    ratecell_decision decision;
    config.max_keys = 1;
    decision.delay_ns = 0;
    if (ratecell_limiter_new(policy, &config, &limiter) < 0) {
        return 0;
    }
    if (ratecell_limiter_check_at(limiter, NULL, 0, cost, 0, &decision) != RATECELL_ALLOWED) {
        decision.delay_ns = 0;
    }
    ratecell_limiter_free(limiter);
    return decision.delay_ns;
}
*/
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// delayAlone is the Delay of a cost on a key with nothing before it. Only several units in a leaky_queue have one.
func (l *Limiter) delayAlone(cost uint32) time.Duration {
	if cost <= 1 || !strings.Contains(l.policy, "leaky_queue") {
		return 0
	}
	policy := C.CString(l.policy)
	defer C.free(unsafe.Pointer(policy))
	return duration(C.go_delay_alone(policy, C.uint32_t(cost)))
}

package ratecell

/*
#include "library.h"
*/
import "C"

// Status is the kind of an [Error]: the number that the C library has for it.
type Status int

// What a policy's text may have wrong.
const (
	// StatusPolicySyntax: the text does not follow the grammar.
	StatusPolicySyntax Status = C.RATECELL_EPOLICY_SYNTAX
	// StatusPolicyUnknownAlgorithm: no algorithm has the name.
	StatusPolicyUnknownAlgorithm Status = C.RATECELL_EPOLICY_UNKNOWN_ALGORITHM
	// StatusPolicyZeroLimit: the limit (refill, leak) is 0.
	StatusPolicyZeroLimit Status = C.RATECELL_EPOLICY_ZERO_LIMIT
	// StatusPolicyZeroPeriod: the period (window, interval) is 0.
	StatusPolicyZeroPeriod Status = C.RATECELL_EPOLICY_ZERO_PERIOD
	// StatusPolicyZeroCapacity: the capacity (burst) is 0.
	StatusPolicyZeroCapacity Status = C.RATECELL_EPOLICY_ZERO_CAPACITY
	// StatusPolicyMissingParameter: a parameter that the algorithm needs is absent.
	StatusPolicyMissingParameter Status = C.RATECELL_EPOLICY_MISSING_PARAMETER
	// StatusPolicyBadOffset: the offset of a fixed window is not below the window.
	StatusPolicyBadOffset Status = C.RATECELL_EPOLICY_BAD_OFFSET
	// StatusPolicyRange: a number is out of range, or its state does not fit one word.
	StatusPolicyRange Status = C.RATECELL_EPOLICY_RANGE
	// StatusPolicyPrecision: the rate is too fine to be kept within a thousandth of itself.
	StatusPolicyPrecision Status = C.RATECELL_EPOLICY_PRECISION
	// StatusPolicyBadLayers: there are more than eight layers.
	StatusPolicyBadLayers Status = C.RATECELL_EPOLICY_BAD_LAYERS
	// StatusPolicyBadZone: no time zone has the name.
	StatusPolicyBadZone Status = C.RATECELL_EPOLICY_BAD_ZONE
)

// What may keep a file from being used.
const (
	// StatusFile: the system refuses to open, lock, read, enlarge or map it.
	StatusFile Status = C.RATECELL_EFILE
	// StatusRegionSmall: it has been cut short.
	StatusRegionSmall Status = C.RATECELL_EREGION_SMALL
	// StatusRegionNone: it holds something else.
	StatusRegionNone Status = C.RATECELL_EREGION_NONE
	// StatusRegionDamaged: its header is not one that was ever written.
	StatusRegionDamaged Status = C.RATECELL_EREGION_DAMAGED
	// StatusRegionLayout: it is of another version of the library, or of another byte order.
	StatusRegionLayout Status = C.RATECELL_EREGION_LAYOUT
	// StatusRegionLayers: it is of a policy with more or fewer layers. Of WithPolicy as well.
	StatusRegionLayers Status = C.RATECELL_EREGION_LAYERS
	// StatusRegionWords: it is of another algorithm, window or offset. Of WithPolicy as well.
	StatusRegionWords Status = C.RATECELL_EREGION_WORDS
	// StatusRegionMaxKeys: it was made for another number of keys.
	StatusRegionMaxKeys Status = C.RATECELL_EREGION_MAX_KEYS
	// StatusRegionWhenFull: it was made with another answer for a full table.
	StatusRegionWhenFull Status = C.RATECELL_EREGION_WHEN_FULL
	// StatusRegionTimeNamespace: it is of another time namespace, whose clock is another.
	StatusRegionTimeNamespace Status = C.RATECELL_EREGION_TIME_NAMESPACE
	// StatusStore: it holds the units of many machines, and was made for another policy or store; or it holds those of
	// one machine, and was asked for those of many.
	StatusStore Status = C.RATECELL_ESTORE
	// StatusRegionPolicy: it has another rate, or a rule in it another policy; or it holds the limits of rules, and not one policy, or the other
	// way round.
	StatusRegionPolicy Status = C.RATECELL_EREGION_POLICY
	// StatusRegionNoWord: the policy is a sliding_log, which cannot be shared.
	StatusRegionNoWord Status = C.RATECELL_EREGION_NO_WORD
)

// What else there is.
const (
	// StatusInvalid: a number selects nothing.
	StatusInvalid Status = C.RATECELL_EINVAL
	// StatusConfig: a setting has a value that cannot be, or that only a file of leases has. Of NewClients as well.
	StatusConfig Status = C.RATECELL_ECONFIG
	// StatusChange: the policy cannot follow the one in force, of [Limiter.Change].
	StatusChange Status = C.RATECELL_ECHANGE
	// StatusReserve: the limiter reserves nothing: its units are those of many machines.
	StatusReserve Status = C.RATECELL_ERESERVE
	// StatusRules: a file of rules has a fault.
	StatusRules Status = C.RATECELL_ERULES
	// StatusName: a name for fields, a unit or a partition is none.
	StatusName Status = C.RATECELL_ENAME
	// StatusNoMemory: the system did not give the memory.
	StatusNoMemory Status = C.RATECELL_ENOMEM
	// StatusNoRandom: the system did not give random bytes for the secret of the key hash.
	StatusNoRandom Status = C.RATECELL_ENORANDOM
	// StatusProcessor: the processor has no instruction that exchanges 16 bytes at once, as a table must: it is neither
	// aarch64 nor x86-64 with cmpxchg16b.
	StatusProcessor Status = C.RATECELL_EPROCESSOR
	// StatusPanic: a bug in ratecell. The process can go on.
	StatusPanic Status = C.RATECELL_EPANIC
)

// String says what the status means, after its name in ratecell.h.
func (s Status) String() string {
	return C.GoString(C.ratecell_strerror(C.int32_t(s)))
}

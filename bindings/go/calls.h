/* What the calls from Go into C share. */

#include "library.h"

// Of a pointer to void, or to a struct that the header does not show, cgo checks at each call what else is in the
// memory that it points to. So keys are of char here, and a limiter, which is C's own memory, is a number.
typedef uintptr_t go_limiter;

static inline const ratecell_limiter *limiter_of(go_limiter limiter) {
    return (const ratecell_limiter *)limiter;
}

// A zone is a number as well.
typedef uintptr_t go_zone;

// What the options of a limiter set.
typedef struct go_config {
    uint64_t max_keys;
    uint64_t when_full;
    uint64_t on_miss;
    uint64_t wait_ns;
    uint64_t on_failure;
    int64_t epoch_s;
    uint64_t flags;
} go_config;

// A config holds a pointer, so C makes it.
static inline ratecell_config config_of(go_config options, char *why, size_t why_len) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = options.max_keys;
    config.when_full = options.when_full;
    config.on_miss = options.on_miss;
    config.wait_ns = options.wait_ns;
    config.on_failure = options.on_failure;
    config.epoch_s = options.epoch_s;
    config.flags = options.flags;
    config.why = why;
    config.why_len = why_len;
    return config;
}

// A request without its pointers. Go's memory that C is given may hold no pointers of Go, and a request holds one to
// its key: so C is given the keys beside this, and makes the request.
typedef struct go_asked {
    size_t key_len;
    uint64_t hash;
    uint64_t now_ns;
    uint64_t max_delay_ns;
    uint32_t cost;
    uint32_t flags;
    go_zone zone;
} go_asked;

static inline ratecell_request request_of(const char *key, const go_asked *asked) {
    ratecell_request request = {
        .key = key,
        .key_len = asked->key_len,
        .hash = asked->hash,
        .now_ns = asked->now_ns,
        .max_delay_ns = asked->max_delay_ns,
        .cost = asked->cost,
        .flags = asked->flags,
        .zone = (const ratecell_zone *)asked->zone,
    };
    return request;
}

// A ratecell_attribute without pointers to Go: Go sets the lengths, and C the rest.
typedef struct go_attribute {
    uintptr_t name;
    size_t name_len;
    uintptr_t value;
    size_t value_len;
} go_attribute;

_Static_assert(sizeof(go_attribute) == sizeof(ratecell_attribute), "an attribute is two pointers and two lengths");

// The request of n attributes, whose names and values follow each other in texts.
static inline ratecell_rules_request go_rules_request(const char *texts, go_attribute *places, size_t n,
                                                      uint64_t now_ns, uint32_t flags, ratecell_rules_held *held,
                                                      size_t max_held) {
    ratecell_attribute *attributes = (ratecell_attribute *)places;
    for (size_t i = 0; i < n; i++) {
        attributes[i].name = texts;
        texts += attributes[i].name_len;
        attributes[i].value = texts;
        texts += attributes[i].value_len;
    }
    const ratecell_rules_request request = {
        .attributes = attributes,
        .n_attributes = n,
        .now_ns = now_ns,
        .flags = flags,
        .held = held,
        .max_held = max_held,
    };
    return request;
}

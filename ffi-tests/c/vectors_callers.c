/* Replays the published decisions of requests that name their zone, which vectors/calendar.md defines, through the C functions.
 *
 *   vectors_callers DIR      the last line is "N passed, M failed" */

#define _POSIX_C_SOURCE 200809L

#include "sections.h"

/* More keys than any section has: a limiter that evicts is not the one that the vectors describe. */
#define MAX_KEYS 4096

/* The section at which the file is, and the zones that were made for it. */
static struct {
    ratecell_limiter *limiter;
    struct {
        char name[64];
        ratecell_zone *zone;
    } zones[64];
    size_t count;
} section;

static const ratecell_zone *zone_of(const char *name) {
    size_t at = 0;
    while (at < section.count && strcmp(section.zones[at].name, name) != 0) {
        at += 1;
    }
    if (at == section.count) {
        if (at == CHECK_COUNT(section.zones) || strlen(name) >= sizeof section.zones[at].name) {
            die("more zones than there is room for");
        }
        strcpy(section.zones[at].name, name);
        if (ratecell_zone_new(section.limiter, name, &section.zones[at].zone) != 0) {
            die("no such zone");
        }
        section.count += 1;
    }
    return section.zones[at].zone;
}

static void request(json_object *row, const char *line) {
    const char *what = json_object_get_string(json_object_array_get_idx(row, 0));
    const char *zone = json_object_get_string(json_object_array_get_idx(row, 1));
    json_object *key = json_object_array_get_idx(row, 3);
    ratecell_request asked = { .flags = RATECELL_AT };
    ratecell_decision decision;
    if (section.limiter == NULL || strcmp(what, "in") != 0 || column(row, 4) > UINT32_MAX) {
        die("not a row of a section");
    }
    asked.key = json_object_get_string(key);
    asked.key_len = (size_t)json_object_get_string_len(key);
    asked.now_ns = column(row, 2);
    asked.cost = (uint32_t)column(row, 4);
    asked.zone = zone_of(zone);
    memset(&decision, 0xA5, sizeof decision);
    int32_t status = ratecell_limiter_decide(section.limiter, &asked, &decision);
    stated_decision(is_stated(row, 5, status, &decision) && decision.delay_ns == 0, line, status, &decision);
}

static void end_section(void) {
    for (size_t i = 0; i < section.count; i++) {
        ratecell_zone_free(section.zones[i].zone);
    }
    ratecell_limiter_free(section.limiter);
    memset(&section, 0, sizeof section);
}

static void each_line(json_object *value, const char *line) {
    if (replay.line == 1) {
        if (json_object_get_uint64(field(value, "ratecell_vectors")) != 2) {
            die("not a file of vectors of its version");
        }
    } else if (json_object_is_type(value, json_type_array)) {
        request(value, line);
    } else {
        end_section();
        if (make(value, MAX_KEYS, &section.limiter) != 0) {
            die("the section's policy is refused");
        }
        if (!resolved_so(section.limiter, zone_of("UTC"), field(value, "resolved"))) {
            die("the policy does not resolve as stated");
        }
    }
}

int main(int argc, char **argv) {
    return replay_folder(argc, argv, each_line, end_section);
}

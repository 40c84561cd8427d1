/* A program and a library that were made at different times: this version's, and the one that next.patch
 * makes of it. APPENDED: the program is of the next version. NEXT in the environment: the library is.
 */
#include <ratecell.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void expect(const char *what, long long expected, long long got)
{
    if (expected != got) {
        fprintf(stderr, "%s: expected %lld, got %lld\n", what, expected, got);
        failed = 1;
    }
}

int main(void)
{
    ratecell_limiter *limiter = NULL, *none = NULL;
    ratecell_decision decision;
    /* What stands after a struct is not the library's to read nor to write. */
    struct {
        ratecell_config config;
        unsigned char after[32];
    } in;
    struct {
        ratecell_stats stats;
        unsigned char after[32];
    } out;
    const ratecell_config init = RATECELL_CONFIG_INIT;
    ratecell_request request;
    size_t i;
#ifdef APPENDED
    int next_library = getenv("NEXT") != NULL;
#endif

    memset(&in, 0xa5, sizeof in);
    memset(&out, 0xa5, sizeof out);
    in.config = init;
    in.config.max_keys = 600;
    in.config.when_full = RATECELL_FULL_DENY;
#ifdef APPENDED
    in.config.appended = 7;
    expect("a new field that is used", next_library ? 0 : RATECELL_E2BIG,
           ratecell_limiter_new("3/s", &in.config, &limiter));
    ratecell_limiter_free(limiter);
    limiter = NULL;
    in.config.appended = 8;
    expect("a new field with a value that nobody knows", next_library ? RATECELL_ECONFIG : RATECELL_E2BIG,
           ratecell_limiter_new("3/s", &in.config, &limiter));
    in.config.appended = 0;
#endif
    expect("new", 0, ratecell_limiter_new("3/s", &in.config, &limiter));
    for (i = 0; i < 4; i++)
        expect("check", i < 3 ? RATECELL_ALLOWED : RATECELL_DENIED,
               ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision));
    expect("retry_after_ns", 333333334, (long long)decision.retry_after_ns);
    memset(&request, 0, sizeof request);
    request.key = "other";
    request.key_len = 5;
    request.cost = 0;
    request.flags = RATECELL_AT;
    expect("decide", RATECELL_ALLOWED, ratecell_limiter_decide(limiter, &request, &decision));
    expect("remaining", 3, (long long)decision.remaining);
    /* What only a later version knows is refused, and charges nothing. */
    request.cost = 3;
#ifdef APPENDED
    request.flags = RATECELL_AT | RATECELL_NEWER;
    expect("a new flag", next_library ? RATECELL_ALLOWED : RATECELL_EINVAL,
           ratecell_limiter_decide(limiter, &request, &decision));
    expect("forget", next_library ? 0 : 1, ratecell_limiter_forget(limiter, "other", 5));
#endif
    request.flags = RATECELL_AT | UINT32_C(1) << 31;
    expect("an unknown flag", RATECELL_EINVAL, ratecell_limiter_decide(limiter, &request, &decision));
    request.flags = RATECELL_AT;
    request.reservation = (ratecell_reservation *)&out;
    expect("a reservation", RATECELL_EINVAL, ratecell_limiter_decide(limiter, &request, &decision));
    request.reservation = NULL;
    request.zone = (const ratecell_zone *)&out;
    expect("a zone", RATECELL_EINVAL, ratecell_limiter_decide(limiter, &request, &decision));
    in.config.flags = UINT64_C(1) << 63;
    expect("an unknown flag of the config", RATECELL_ECONFIG, ratecell_limiter_new("3/s", &in.config, &none));
    in.config.flags = 0;
    expect("stats", 0, ratecell_limiter_stats(limiter, RATECELL_AT, 0, &out.stats, sizeof out.stats));
    expect("slots of max_keys", 840, (long long)out.stats.slots);
    expect("live", 1, (long long)out.stats.live);
    expect("exhausted", 0, (long long)out.stats.exhausted);
#ifdef APPENDED
    expect("a new field of the stats", next_library ? 7 : 0, (long long)out.stats.appended);
#endif
    for (i = 0; i < sizeof out.after; i++)
        expect("a byte after the stats", 0xa5, out.after[i]);
    ratecell_limiter_free(limiter);
    return failed;
}

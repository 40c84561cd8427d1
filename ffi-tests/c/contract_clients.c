/* The keys of clients: what the header says of each of the three functions, and every bad argument. */

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define PEER "10.0.0.9:4711"
#define TOO_LONG ((size_t)PTRDIFF_MAX + 1)

static const char *const networks[] = { "10.0.0.0/8", "2001:db8::/32", "unix" };

static ratecell_clients_config config_of(const char *field, int32_t kind, uint32_t hops) {
    ratecell_clients_config config = RATECELL_CLIENTS_CONFIG_INIT;
    config.field = field;
    config.kind = kind;
    config.hops = hops;
    return config;
}

static ratecell_clients *made(const ratecell_clients_config *config) {
    ratecell_clients *clients = NULL;
    CHECK_STATUS(ratecell_clients_new(config, &clients), 0);
    if (clients == NULL) {
        exit(CHECK_END() + 1);
    }
    return clients;
}

static ratecell_line line_of(const char *name, const char *value) {
    ratecell_line line = { name, strlen(name), value, strlen(value) };
    return line;
}

static void key_is(const ratecell_clients *clients, const char *peer, const ratecell_line *lines, size_t n,
                   const char *expected) {
    char key[RATECELL_CLIENT_KEY_SIZE];
    check_case("the key of %s", peer);
    CHECK_STATUS(ratecell_client_key(clients, peer, strlen(peer), lines, n, key, sizeof key),
                 (int32_t)strlen(expected));
    CHECK_TEXT(key, expected);
}

static void without_a_configuration_the_peer_is_the_client(void) {
    ratecell_clients_config config = RATECELL_CLIENTS_CONFIG_INIT;
    const ratecell_line line = line_of("X-Forwarded-For", "203.0.113.7");
    ratecell_clients *clients = made(NULL), *same = made(&config);
    key_is(clients, PEER, &line, 1, "10.0.0.9");
    key_is(same, "[2001:DB8:1:2::3]:80", &line, 1, "2001:db8:1:2::/64");
    key_is(clients, "::ffff:203.0.113.7", NULL, 0, "203.0.113.7");
    key_is(clients, "", NULL, 0, "unix");
    key_is(clients, "example.org", NULL, 0, "unknown");
    CHECK_STATUS(ratecell_client_key(clients, NULL, 0, NULL, 0, NULL, 0), 4);
    config.v4_width = 24;
    config.v6_width = 128;
    ratecell_clients *other = made(&config);
    key_is(other, PEER, NULL, 0, "10.0.0.0/24");
    key_is(other, "2001:db8::3", NULL, 0, "2001:db8::3");
    ratecell_clients_free(other);
    ratecell_clients_free(same);
    ratecell_clients_free(clients);
}

static void every_kind_reads_its_field(void) {
    const ratecell_line lines[] = {
        line_of("Host", "example.org"),
        line_of("x-forwarded-for", "6.6.6.6, 203.0.113.7"),
        line_of("Forwarded", "for=6.6.6.6, for=\"[2001:db8:1:2::3]\""),
        line_of("X-Real-IP", "198.51.100.1"),
        { NULL, 0, NULL, 0 },
    };
    static const struct {
        const char *field;
        int32_t kind;
        const char *key;
    } kinds[] = {
        { "X-Forwarded-For", RATECELL_CLIENT_LIST, "203.0.113.7" },
        { "Forwarded", RATECELL_CLIENT_FORWARDED, "2001:db8:1:2::/64" },
        { "X-Real-IP", RATECELL_CLIENT_SINGLE, "198.51.100.1" },
    };
    for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
        ratecell_clients_config config = config_of(kinds[i].field, kinds[i].kind, 1);
        ratecell_clients *clients = made(&config);
        key_is(clients, PEER, lines, CHECK_COUNT(lines), kinds[i].key);
        key_is(clients, PEER, lines, 1, "10.0.0.9");
        ratecell_clients_free(clients);
    }
    ratecell_clients_config config = config_of("X-Forwarded-For", RATECELL_CLIENT_LIST, 0);
    config.networks = networks;
    config.n_networks = CHECK_COUNT(networks);
    ratecell_clients *clients = made(&config);
    key_is(clients, PEER, lines, CHECK_COUNT(lines), "203.0.113.7");
    key_is(clients, "192.0.2.1:80", lines, CHECK_COUNT(lines), "192.0.2.1");
    ratecell_clients_free(clients);
}

/* The configurations that are refused, with the codes by which the reason begins. */
static void every_configuration_is_checked(void) {
    static const char *const bad[] = { "10.0.0.1/8" };
    static const char *const missing[] = { "10.0.0.0/8", NULL };
    static const char *const many[300] = { "10.0.0.0/8" };
    struct {
        ratecell_clients_config config;
        int32_t status;
        const char *why;
    } refused[] = {
        { config_of("", 0, 1), RATECELL_ECONFIG, "bad_field: " },
        { config_of("X Y", 0, 1), RATECELL_ECONFIG, "bad_field: " },
        { config_of(NULL, 0, 1), RATECELL_ECONFIG, "bad_field: " },
        { config_of(NULL, RATECELL_CLIENT_SINGLE, 0), RATECELL_ECONFIG, "bad_field: " },
        { config_of("X", 3, 1), RATECELL_ECONFIG, "bad_field: the kind is 3" },
        { config_of("X", -1, 1), RATECELL_ECONFIG, "bad_field: the kind is -1" },
        { config_of("X", 0, 0), RATECELL_ECONFIG, "bad_trust: neither" },
        { config_of("X", 0, 17), RATECELL_ECONFIG, "bad_hops: 17" },
        { config_of("X", RATECELL_CLIENT_SINGLE, 2), RATECELL_ECONFIG, "bad_hops: 2" },
        { config_of("X", 0, 1), RATECELL_ECONFIG, "bad_trust: both" },
        { config_of("X", 0, 0), RATECELL_ECONFIG, "bad_network: none" },
        { config_of("X", 0, 0), RATECELL_ECONFIG, "bad_network: the network `10.0.0.1/8`" },
        { config_of("X", 0, 0), RATECELL_EINVAL, "RATECELL_EINVAL" },
        { config_of("X", 0, 0), RATECELL_EINVAL, "RATECELL_EINVAL" },
        { config_of("X", 0, 0), RATECELL_ESIZE, "RATECELL_ESIZE" },
        { config_of(NULL, 0, 0), RATECELL_ECONFIG, "bad_width: the width of IPv4 is 7" },
        { config_of(NULL, 0, 0), RATECELL_ECONFIG, "bad_width: the width of IPv6 is 129" },
        { config_of(NULL, 0, 0), RATECELL_ESIZE, "" },
        { config_of(NULL, 0, 0), RATECELL_E2BIG, "" },
    };
    refused[9].config.networks = networks;
    refused[9].config.n_networks = 1;
    refused[10].config.networks = networks;
    refused[11].config.networks = bad;
    refused[11].config.n_networks = 1;
    refused[12].config.n_networks = 1;
    refused[13].config.networks = missing;
    refused[13].config.n_networks = 2;
    refused[14].config.networks = networks;
    refused[14].config.n_networks = SIZE_MAX / sizeof(char *);
    refused[15].config.v4_width = 7;
    refused[16].config.v6_width = 129;
    refused[17].config.size -= 1;
    refused[18].config.size = 8192;
    for (size_t i = 0; i < CHECK_COUNT(refused); i++) {
        char why[200];
        ratecell_clients *clients;
        check_case("configuration %zu", i);
        why[0] = '\0';
        UNTOUCHED(clients);
        refused[i].config.why = why;
        refused[i].config.why_len = sizeof why;
        CHECK_STATUS(ratecell_clients_new(&refused[i].config, &clients), refused[i].status);
        CHECK_UNTOUCHED(clients);
        CHECK(strncmp(why, refused[i].why, strlen(refused[i].why)) == 0);
        /* A config whose size is wrong is not read. */
        int unread = refused[i].config.size != sizeof refused[i].config;
        CHECK((why[0] == '\0') == unread);
    }
    /* No more of them are read than there can be. */
    ratecell_clients_config config = config_of("X", 0, 0);
    ratecell_clients *clients;
    const char *all[300];
    char why[200];
    for (size_t i = 0; i < CHECK_COUNT(all); i++) {
        all[i] = i < 257 ? many[0] : NULL;
    }
    check_case("too many networks");
    config.networks = all;
    config.n_networks = CHECK_COUNT(all);
    config.why = why;
    config.why_len = sizeof why;
    CHECK_STATUS(ratecell_clients_new(&config, &clients), RATECELL_ECONFIG);
    CHECK_TEXT(why, "bad_network: more: expected 1 to 256 networks");
}

static void the_reason_is_cut_where_it_does_not_fit(void) {
    static const char whole[] = "bad_hops: 17 hops of a list field: expected 1 to 16";
    for (size_t len = 0; len < sizeof whole + 3; len++) {
        char *why = malloc(len == 0 ? 1 : len);
        ratecell_clients *clients;
        ratecell_clients_config config = config_of("X", 0, 17);
        if (why == NULL) {
            abort();
        }
        check_case("the reason in %zu bytes", len);
        check_fill(why, len == 0 ? 1 : len);
        config.why = why;
        config.why_len = len;
        CHECK_STATUS(ratecell_clients_new(&config, &clients), RATECELL_ECONFIG);
        if (len == 0) {
            check_filled(why, 1, "why", __FILE__, __LINE__);
        } else {
            size_t length = len < sizeof whole ? len - 1 : sizeof whole - 1;
            CHECK_U64(strlen(why), length);
            CHECK(memcmp(why, whole, length) == 0);
            check_filled(why + length + 1, len - length - 1, "what follows", __FILE__, __LINE__);
        }
        free(why);
    }
    ratecell_clients *clients;
    ratecell_clients_config config = config_of("X", 0, 17);
    check_case("no reason");
    CHECK_STATUS(ratecell_clients_new(&config, &clients), RATECELL_ECONFIG);
    config.why_len = 1;
    CHECK_STATUS(ratecell_clients_new(&config, &clients), RATECELL_EINVAL);
    char why[1];
    config.why = why;
    config.why_len = TOO_LONG;
    CHECK_STATUS(ratecell_clients_new(&config, &clients), RATECELL_ESIZE);
}

/* Whatever was there before: of what is made an empty text, and of no place for it a sentence. */
static void the_reason_is_written_each_time(void) {
    char why[200] = "of before";
    ratecell_clients *clients = NULL;
    ratecell_clients_config config = config_of("X", 0, 1);
    config.why = why;
    config.why_len = sizeof why;
    check_case("a reason");
    CHECK_STATUS(ratecell_clients_new(&config, &clients), 0);
    CHECK_TEXT(why, "");
    ratecell_clients_free(clients);
    CHECK_STATUS(ratecell_clients_new(&config, NULL), RATECELL_EINVAL);
    CHECK(strncmp(why, "RATECELL_EINVAL: ", 17) == 0);
}

/* A longer config of a later version is taken where what is new in it is 0. */
static void a_config_may_grow(void) {
    struct {
        ratecell_clients_config known;
        uint64_t newer;
    } config = { RATECELL_CLIENTS_CONFIG_INIT, 0 };
    ratecell_clients *clients = NULL;
    check_case("a longer config");
    config.known.size = sizeof config;
    CHECK_STATUS(ratecell_clients_new(&config.known, &clients), 0);
    ratecell_clients_free(clients);
    config.newer = 1;
    CHECK_STATUS(ratecell_clients_new(&config.known, &clients), RATECELL_E2BIG);
}

static void every_argument_of_new_is_checked(void) {
    union {
        ratecell_clients_config config;
        unsigned char bytes[sizeof(ratecell_clients_config) + 8];
    } room;
    ratecell_clients *clients[2];
    memset(&room, 0, sizeof room);
    check_case("ratecell_clients_new");
    CHECK_STATUS(ratecell_clients_new(NULL, NULL), RATECELL_EINVAL);
    for (size_t offset = 1; offset < 8; offset++) {
        UNTOUCHED(clients);
        CHECK_STATUS(ratecell_clients_new((void *)(room.bytes + offset), clients), RATECELL_EALIGN);
        CHECK_STATUS(ratecell_clients_new(NULL, (void *)((char *)clients + offset)), RATECELL_EALIGN);
        CHECK_UNTOUCHED(clients);
    }
    /* The array of networks, not aligned. */
    ratecell_clients_config config = config_of("X", 0, 0);
    config.networks = (void *)(room.bytes + 1);
    config.n_networks = 1;
    CHECK_STATUS(ratecell_clients_new(&config, clients), RATECELL_EALIGN);
    CHECK_UNTOUCHED(clients);
    ratecell_clients_free(NULL);
}

static void every_argument_of_key_is_checked(void) {
    ratecell_clients_config config = config_of("X", 0, 1);
    ratecell_clients *clients = made(&config);
    const ratecell_line line = line_of("X", "203.0.113.7");
    ratecell_line bad = line, two[2];
    char key[RATECELL_CLIENT_KEY_SIZE];
    two[0] = two[1] = line;
    check_case("ratecell_client_key");
    UNTOUCHED(key);
#define KEY(clients, peer, peer_len, lines, n, buffer, len) \
    ratecell_client_key((clients), (peer), (peer_len), (lines), (n), (buffer), (len))
    CHECK_STATUS(KEY(NULL, PEER, 13, &line, 1, key, sizeof key), RATECELL_EINVAL);
    CHECK_STATUS(KEY(clients, NULL, 13, &line, 1, key, sizeof key), RATECELL_EINVAL);
    CHECK_STATUS(KEY(clients, PEER, 13, NULL, 1, key, sizeof key), RATECELL_EINVAL);
    CHECK_STATUS(KEY(clients, PEER, 13, &line, 1, NULL, sizeof key), RATECELL_EINVAL);
    CHECK_STATUS(KEY(clients, PEER, TOO_LONG, &line, 1, key, sizeof key), RATECELL_ESIZE);
    CHECK_STATUS(KEY(clients, PEER, 13, &line, SIZE_MAX / sizeof line + 1, key, sizeof key), RATECELL_ESIZE);
    CHECK_STATUS(KEY(clients, PEER, 13, &line, 1, key, TOO_LONG), RATECELL_ESIZE);
    for (size_t offset = 1; offset < 8; offset++) {
        const void *lines = (const char *)two + offset, *whose = (const char *)clients + offset;
        CHECK_STATUS(KEY(clients, PEER, 13, lines, 1, key, sizeof key), RATECELL_EALIGN);
        CHECK_STATUS(KEY(whose, PEER, 13, &line, 1, key, sizeof key), RATECELL_EALIGN);
    }
    bad.name = NULL;
    CHECK_STATUS(KEY(clients, PEER, 13, &bad, 1, key, sizeof key), RATECELL_EINVAL);
    bad = line;
    bad.value = NULL;
    CHECK_STATUS(KEY(clients, PEER, 13, &bad, 1, key, sizeof key), RATECELL_EINVAL);
    bad = line;
    bad.name_len = TOO_LONG;
    CHECK_STATUS(KEY(clients, PEER, 13, &bad, 1, key, sizeof key), RATECELL_ESIZE);
    bad = line;
    bad.value_len = TOO_LONG;
    CHECK_STATUS(KEY(clients, PEER, 13, &bad, 1, key, sizeof key), RATECELL_ESIZE);
    CHECK_UNTOUCHED(key);
    check_case("into every size");
    for (size_t len = 0; len < sizeof key; len++) {
        UNTOUCHED(key);
        if (len == 0 || len > 11) {
            CHECK_STATUS(KEY(clients, PEER, 13, &line, 1, key, len), 11);
        } else {
            CHECK_STATUS(KEY(clients, PEER, 13, &line, 1, key, len), RATECELL_ENOSPC);
            CHECK_UNTOUCHED(key);
        }
    }
    CHECK_TEXT(key, "203.0.113.7");
    ratecell_clients_free(clients);
}

int main(void) {
    without_a_configuration_the_peer_is_the_client();
    every_kind_reads_its_field();
    every_configuration_is_checked();
    the_reason_is_cut_where_it_does_not_fit();
    the_reason_is_written_each_time();
    a_config_may_grow();
    every_argument_of_new_is_checked();
    every_argument_of_key_is_checked();
    return CHECK_END();
}

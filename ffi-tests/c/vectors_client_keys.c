/* Replays the published keys of clients, which vectors/edges/client_keys.md defines, through the C functions.
 *
 *   vectors_client_keys DIR      the last line is "N passed, M failed"
 *
 * A configuration of C has no words for a width of 0 and for hops of 0: both are what is not given. So the widths are
 * then right, and neither hops nor networks are given. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_SHOWN 20
#define MAX_LINES 128
#define MAX_NETWORKS 300
#define MAX_BYTES (1 << 20)

static struct {
    const char *file;
    unsigned long line;
    unsigned long passed, failed, unsaid;
} replay;

/* The bytes of the texts of one row. */
static struct {
    size_t used;
    char bytes[MAX_BYTES];
} memory;

static void die(const char *what) {
    fprintf(stderr, "%s:%lu: %s\n", replay.file, replay.line, what);
    exit(EXIT_FAILURE);
}

static void stated(int holds, const char *line, const char *got) {
    replay.passed += (unsigned long)(holds != 0);
    replay.failed += (unsigned long)(holds == 0);
    if (!holds && replay.failed <= FAILURES_SHOWN) {
        printf("%s:%lu: expected %.*s, got %s\n", replay.file, replay.line, (int)strcspn(line, "\n"), line, got);
    }
}

static json_object *field(json_object *object, const char *name) {
    return json_object_object_get(object, name);
}

static json_object *at(json_object *row, size_t column) {
    return json_object_array_get_idx(row, column);
}

/* A text's bytes, and a NUL: a character is one byte, and a text with others is taken as UTF-8. */
static const char *bytes_of(json_object *text, size_t *len) {
    const unsigned char *utf8 = (const unsigned char *)json_object_get_string(text);
    size_t size = (size_t)json_object_get_string_len(text), used = 0;
    char *bytes = memory.bytes + memory.used;
    if (size + 1 > sizeof memory.bytes - memory.used) {
        die("a row with more text than there is room for");
    }
    for (size_t i = 0; i < size; i++) {
        if (utf8[i] > 0xC3) {
            memcpy(bytes, utf8, size);
            used = size;
            break;
        }
        if (utf8[i] >= 0xC2) {
            bytes[used++] = (char)(((utf8[i] & 0x03) << 6) | (utf8[i + 1] & 0x3F));
            i++;
        } else {
            bytes[used++] = (char)utf8[i];
        }
    }
    bytes[used] = '\0';
    memory.used += used + 1;
    if (len != NULL) {
        *len = used;
    }
    return bytes;
}

static int32_t kind_of(const char *name) {
    static const char *const kinds[] = { "list", "forwarded", "single" };
    for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
        if (strcmp(kinds[i], name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* Makes clients of {"trust":...,"width":...}. */
static int32_t make(json_object *object, char *why, size_t why_len, ratecell_clients **clients) {
    ratecell_clients_config config = RATECELL_CLIENTS_CONFIG_INIT;
    const char *networks[MAX_NETWORKS];
    json_object *trust = field(object, "trust"), *given = field(trust, "networks");
    config.v4_width = (uint32_t)json_object_get_uint64(field(field(object, "width"), "v4"));
    config.v6_width = (uint32_t)json_object_get_uint64(field(field(object, "width"), "v6"));
    config.why = why;
    config.why_len = why_len;
    memory.used = 0;
    if (trust != NULL) {
        config.field = bytes_of(field(trust, "field"), NULL);
        config.kind = kind_of(json_object_get_string(field(trust, "kind")));
        config.hops = (uint32_t)json_object_get_uint64(field(trust, "hops"));
    }
    if (given != NULL) {
        config.n_networks = json_object_array_length(given);
        config.networks = networks;
        if (config.n_networks > MAX_NETWORKS) {
            die("more networks than there is room for");
        }
        for (size_t i = 0; i < config.n_networks; i++) {
            networks[i] = bytes_of(at(given, i), NULL);
        }
    }
    return ratecell_clients_new(&config, clients);
}

static int is_zero(json_object *number) {
    return number != NULL && json_object_get_uint64(number) == 0;
}

/* A configuration, with the code of its error or null. */
static void construct(json_object *object, const char *line) {
    const char *error = json_object_get_string(field(object, "error"));
    json_object *width = field(object, "width");
    ratecell_clients *clients = NULL;
    char why[256] = "";
    int32_t status = make(object, why, sizeof why, &clients);
    if (is_zero(field(width, "v4")) || is_zero(field(width, "v6"))) {
        replay.unsaid += 1;
        error = NULL;
    } else if (is_zero(field(field(object, "trust"), "hops"))) {
        replay.unsaid += 1;
        error = "bad_trust";
    }
    if (error == NULL) {
        stated(status == 0 && clients != NULL, line, why);
    } else {
        size_t length = strlen(error);
        stated(status == RATECELL_ECONFIG && clients == NULL && strncmp(why, error, length) == 0 &&
                   strncmp(why + length, ": ", 2) == 0,
               line, why);
    }
    ratecell_clients_free(clients);
}

/* A peer, its lines, the key. Why the search ended there, C does not say. */
static void request(const ratecell_clients *clients, json_object *row, const char *line) {
    ratecell_line lines[MAX_LINES];
    json_object *fields = at(row, 1);
    size_t n = json_object_array_length(fields), peer_len;
    char key[RATECELL_CLIENT_KEY_SIZE] = "";
    if (clients == NULL || n > MAX_LINES) {
        die("not a row of a section");
    }
    memory.used = 0;
    const char *peer = bytes_of(at(row, 0), &peer_len);
    for (size_t i = 0; i < n; i++) {
        lines[i].name = bytes_of(at(at(fields, i), 0), &lines[i].name_len);
        lines[i].value = bytes_of(at(at(fields, i), 1), &lines[i].value_len);
    }
    int32_t length = ratecell_client_key(clients, peer, peer_len, lines, n, key, sizeof key);
    stated(length == (int32_t)strlen(key) && strcmp(key, json_object_get_string(at(row, 2))) == 0, line, key);
}

static ratecell_clients *of_width(uint32_t v6) {
    ratecell_clients_config config = RATECELL_CLIENTS_CONFIG_INIT;
    ratecell_clients *clients = NULL;
    config.v6_width = v6;
    if (ratecell_clients_new(&config, &clients) != 0) {
        die("a width is refused");
    }
    return clients;
}

/* A text, and its keys with 128 and with 64 bits of IPv6; null of what is no address. */
static void address(ratecell_clients *const clients[2], json_object *row, const char *line) {
    char keys[2][RATECELL_CLIENT_KEY_SIZE] = { "", "" };
    int holds = 1;
    size_t len;
    memory.used = 0;
    const char *text = bytes_of(at(row, 0), &len);
    for (size_t i = 0; i < 2; i++) {
        const char *expected = json_object_get_string(at(row, i + 1));
        int32_t length = ratecell_client_key(clients[i], text, len, NULL, 0, keys[i], sizeof keys[i]);
        int is_none = strcmp(keys[i], "unix") == 0 || strcmp(keys[i], "unknown") == 0;
        holds = holds && length == (int32_t)strlen(keys[i]) &&
                (expected == NULL ? is_none : strcmp(keys[i], expected) == 0);
    }
    stated(holds, line, keys[0]);
}

static void replay_file(const char *folder, const char *name, const char *kind) {
    char path[4096];
    char *line = NULL;
    size_t size = 0;
    ratecell_clients *section = NULL, *widths[2] = { of_width(128), of_width(64) };
    snprintf(path, sizeof path, "%s/%s.jsonl", folder, name);
    FILE *file = fopen(path, "r");
    replay.file = path;
    replay.line = 0;
    if (file == NULL) {
        die("cannot be read");
    }
    while (getline(&line, &size, file) > 0) {
        json_object *value = json_tokener_parse(line);
        replay.line += 1;
        if (replay.line == 1) {
            if (json_object_get_uint64(field(value, "ratecell_vectors")) != 3 ||
                strcmp(json_object_get_string(field(value, "kind")), kind) != 0) {
                die("not a file of vectors of its version");
            }
        } else if (json_object_is_type(value, json_type_object) && field(value, "section") != NULL) {
            ratecell_clients_free(section);
            section = NULL;
            if (make(value, NULL, 0, &section) != 0) {
                die("the section's configuration is refused");
            }
        } else if (json_object_is_type(value, json_type_object)) {
            construct(value, line);
        } else if (strcmp(kind, "client_keys") == 0) {
            request(section, value, line);
        } else {
            address(widths, value, line);
        }
        json_object_put(value);
    }
    ratecell_clients_free(section);
    ratecell_clients_free(widths[0]);
    ratecell_clients_free(widths[1]);
    free(line);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: vectors_client_keys DIR\n");
        return EXIT_FAILURE;
    }
    replay_file(argv[1], "client_keys", "client_keys");
    replay_file(argv[1], "client_keys_addresses", "client_keys_addresses");
    replay_file(argv[1], "client_keys_construct", "client_keys_construct");
    replay_file(argv[1], "rfc5952", "client_keys_addresses");
    replay_file(argv[1], "rfc7239", "client_keys");
    printf("%lu of them configurations that C cannot say\n", replay.unsaid);
    printf("%lu passed, %lu failed\n", replay.passed, replay.failed);
    return replay.passed > 0 && replay.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

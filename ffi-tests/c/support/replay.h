/* What replays files of vectors: a JSON value a line, whose first one says what the file is. For programs that are
 * linked with json-c; they define _POSIX_C_SOURCE. */

#ifndef REPLAY_H
#define REPLAY_H

#include "check.h"

#include <dirent.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_SHOWN 20

static struct {
    const char *file;
    unsigned long line;
    unsigned long passed, failed, unsaid;
} replay;

static void die(const char *what) {
    fprintf(stderr, "%s:%lu: %s\n", replay.file, replay.line, what);
    exit(EXIT_FAILURE);
}

/* Counts what a line states, and tells it if it does not hold. */
static void stated(int holds, const char *line, const char *got) {
    if (holds) {
        replay.passed += 1;
        return;
    }
    replay.failed += 1;
    if (replay.failed <= FAILURES_SHOWN) {
        printf("%s:%lu: expected %.*s, got %s\n", replay.file, replay.line, (int)strcspn(line, "\n"), line, got);
    }
}

static json_object *parse(const char *text) {
    json_tokener *tokener = json_tokener_new();
    json_object *value;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    value = json_tokener_parse_ex(tokener, text, (int)strlen(text));
    json_tokener_free(tokener);
    return value;
}

/* json-c keeps whole numbers in 64 bits, as the vectors need, since its version 0.14. */
static void numbers_are_read_exactly(void) {
    static const char *const numbers[] = {
        "0", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551614",
        "18446744073709551615",
    };
    replay.file = "numbers";
    for (size_t i = 0; i < CHECK_COUNT(numbers); i++) {
        char text[32], line[32];
        snprintf(line, sizeof line, "[%s]", numbers[i]);
        json_object *array = parse(line);
        uint64_t number = json_object_get_uint64(json_object_array_get_idx(array, 0));
        snprintf(text, sizeof text, "%llu", (unsigned long long)number);
        if (strcmp(text, numbers[i]) != 0) {
            die("this json-c does not read 64-bit numbers exactly");
        }
        json_object_put(array);
    }
}

static json_object *field(json_object *object, const char *name) {
    return json_object_object_get(object, name);
}

/* Called with each line of a file: its value, and its text. */
typedef void replay_line(json_object *value, const char *line);

static void replay_file(const char *path, replay_line *each) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    replay.file = path;
    replay.line = 0;
    if (file == NULL) {
        die("cannot be read");
    }
    while (getline(&line, &size, file) > 0) {
        json_object *value = parse(line);
        replay.line += 1;
        each(value, line);
        json_object_put(value);
    }
    free(line);
    fclose(file);
}

static int is_vectors(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".jsonl") == 0;
}

/* Replays every file of a folder, in the order of their names; `end` is called at the end of each. Prints the count,
 * and is what main returns. */
static int replay_folder(int argc, char **argv, replay_line *each, void (*end)(void)) {
    struct dirent **entries = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIR\n", argv[0]);
        return EXIT_FAILURE;
    }
    numbers_are_read_exactly();
    int count = scandir(argv[1], &entries, is_vectors, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        replay_file(path, each);
        end();
        free(entries[i]);
    }
    free(entries);
    printf("%lu lines are of what C cannot say\n", replay.unsaid);
    printf("%lu passed, %lu failed\n", replay.passed, replay.failed);
    return replay.passed > 0 && replay.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif

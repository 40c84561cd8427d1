#define _DEFAULT_SOURCE

#include "region.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* What a program cannot go on without. */
static void need(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(EXIT_FAILURE);
    }
}

size_t region_policy_at(size_t layers) {
    size_t end = REGION_HEADER + REGION_DIRECTORY + layers * REGION_PACKING;
    return (end + REGION_SECTION - 1) / REGION_SECTION * REGION_SECTION;
}

size_t region_tables_at(size_t layers) {
    return region_policy_at(layers) + REGION_POLICY;
}

size_t region_layers(const char *policy) {
    size_t layers = 1;
    for (; *policy != 0; policy++) {
        layers += *policy == '&';
    }
    return layers;
}

void *region_memory(size_t len) {
    void *memory = NULL;
    need(posix_memalign(&memory, REGION_ALIGNMENT, len == 0 ? 1 : len) == 0, "posix_memalign");
    memset(memory, 0, len);
    return memory;
}

void *region_new(const char *policy, const ratecell_config *config, size_t *len) {
    ratecell_limiter *limiter = NULL;
    *len = ratecell_region_size(policy, config);
    need(*len > 0, policy);
    void *memory = region_memory(*len);
    check_status(ratecell_region_init(memory, *len, policy, config, &limiter), 0, policy, __FILE__, __LINE__);
    need(limiter != NULL, policy);
    ratecell_limiter_free(limiter);
    return memory;
}

void *region_shared(size_t len) {
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    return memory;
}

void file_empty(char *path, size_t size) {
    const char *folder = getenv("TMPDIR");
    int length = snprintf(path, size, "%s/ratecell-XXXXXX", folder == NULL ? "/tmp" : folder);
    need(length > 0 && (size_t)length < size, "a path");
    int descriptor = mkstemp(path);
    need(descriptor >= 0, path);
    need(close(descriptor) == 0, path);
}

void file_new(const char *policy, const ratecell_config *config, char *path, size_t size) {
    file_empty(path, size);
    ratecell_limiter_free(OPENED(path, policy, config));
}

unsigned char *file_read(const char *path, size_t *len) {
    struct stat status;
    int descriptor = open(path, O_RDONLY);
    need(descriptor >= 0 && fstat(descriptor, &status) == 0, path);
    *len = (size_t)status.st_size;
    unsigned char *bytes = malloc(*len + 1);
    need(bytes != NULL && read(descriptor, bytes, *len) == (ssize_t)*len, path);
    need(close(descriptor) == 0, path);
    return bytes;
}

void file_write(const char *path, const void *bytes, size_t len) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    need(descriptor >= 0 && write(descriptor, bytes, len) == (ssize_t)len, path);
    need(close(descriptor) == 0, path);
}

/* A config, or the defaults, with a place for what is wrong. */
static ratecell_config asked(const ratecell_config *config, char *why, size_t why_len) {
    ratecell_config with_why = RATECELL_CONFIG_INIT;
    if (config != NULL) {
        with_why = *config;
    }
    with_why.why = why;
    with_why.why_len = why_len;
    return with_why;
}

ratecell_limiter *region_attached(void *memory, size_t len, const char *policy, const char *file, int line) {
    ratecell_limiter *limiter = NULL;
    char why[512] = "not written";
    ratecell_config config = asked(NULL, why, sizeof why);
    check_status(ratecell_region_attach(memory, len, policy, &config, &limiter), 0, policy, file, line);
    need(limiter != NULL, policy);
    check_text(why, "", "what is wrong", file, line);
    return limiter;
}

ratecell_limiter *region_opened(const char *path, const char *policy, const ratecell_config *config,
                                const char *file, int line) {
    ratecell_limiter *limiter = NULL;
    char why[512] = "not written";
    ratecell_config with_why = asked(config, why, sizeof why);
    check_status(ratecell_limiter_open(path, policy, &with_why, &limiter), 0, policy, file, line);
    need(limiter != NULL, policy);
    check_text(why, "", "what is wrong", file, line);
    return limiter;
}

/* A sentence with the word in it. */
static void check_why(const char *why, const char *word, const char *file, int line) {
    if (strstr(why, word) == NULL) {
        /* Tells both. */
        check_text(why, word, "the word in the reason", file, line);
    } else {
        check_that(1, "the word is in the reason", file, line);
    }
}

void region_refused(void *memory, size_t len, const char *policy, const ratecell_config *config,
                    int32_t status, const char *word, const char *file, int line) {
    ratecell_limiter *limiter;
    char why[512] = "";
    ratecell_config with_why = asked(config, why, sizeof why);
    unsigned char *before = malloc(len + 1);
    need(before != NULL, "malloc");
    memcpy(before, memory, len);
    UNTOUCHED(limiter);
    check_status(ratecell_region_attach(memory, len, policy, &with_why, &limiter), status, policy, file, line);
    check_filled(&limiter, sizeof limiter, "limiter", file, line);
    check_why(why, word, file, line);
    check_that(memcmp(before, memory, len) == 0, "the memory is as it was", file, line);
    free(before);
}

void file_refused(const char *path, const char *policy, const ratecell_config *config, int32_t status,
                  const char *word, const char *file, int line) {
    ratecell_limiter *limiter;
    char why[512] = "";
    ratecell_config with_why = asked(config, why, sizeof why);
    UNTOUCHED(limiter);
    check_status(ratecell_limiter_open(path, policy, &with_why, &limiter), status, path, file, line);
    check_filled(&limiter, sizeof limiter, "limiter", file, line);
    check_why(why, word, file, line);
}

uint64_t region_remaining(const ratecell_limiter *limiter, const char *key, uint64_t now_ns) {
    ratecell_decision decision = { 0 };
    int32_t status = ratecell_limiter_check_at(limiter, key, strlen(key), 0, now_ns, &decision);
    CHECK_STATUS(status, RATECELL_ALLOWED);
    return decision.remaining;
}

/* Regions in files: found, made, and refused. */

#define _DEFAULT_SOURCE

#include "check.h"
#include "region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLICY "10/w"
#define NOBODY 65534

static ratecell_config few = { .size = sizeof(ratecell_config), .max_keys = 64 };
static char folder[64];
static char path[128];

static unsigned mode(void) {
    struct stat status;
    CHECK(stat(path, &status) == 0);
    return (unsigned)status.st_mode & 07777;
}

static uint64_t size(void) {
    struct stat status;
    CHECK(stat(path, &status) == 0);
    return (uint64_t)status.st_size;
}

/* A region in which a key is charged, found again with what was charged. */
static void keeps(const char *policy) {
    ratecell_limiter *limiter = OPENED(path, policy, &few);
    ratecell_config with_room = few;
    with_room.flags = RATECELL_RESERVATIONS;
    CHECK_U64(size(), ratecell_region_size(policy, &with_room));
    CHECK_U64(region_remaining(limiter, "key", 0), 10);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 4, 0, NULL), RATECELL_ALLOWED);
    ratecell_limiter_free(limiter);
    limiter = OPENED(path, policy, NULL);
    CHECK_U64(region_remaining(limiter, "key", 0), 6);
    /* While that one is open, too. */
    ratecell_limiter *other = OPENED(path, policy, &few);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 6, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(other, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(other);
}

/* A file with names is longer, and keeps the key that is denied; one without is refused to whoever asks for them. */
static void names_are_kept_if_they_are_asked_for(void) {
    ratecell_config with_names = few;
    with_names.flags = RATECELL_NAMES;
    ratecell_limiter *limiter = OPENED(path, POLICY, &few);
    uint64_t without = size();
    ratecell_limiter_free(limiter);
    check_case("a file without names");
    limiter = NULL;
    CHECK_STATUS(ratecell_limiter_open(path, POLICY, &with_names, &limiter), RATECELL_ECONFIG);
    CHECK(limiter == NULL);
    CHECK(unlink(path) == 0);
    check_case("a file with names");
    limiter = OPENED(path, POLICY, &with_names);
    CHECK_U64(size(), (without + 127) / 128 * 128 + 262144);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "denied", 6, 10, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "denied", 6, 1, 0, NULL), RATECELL_DENIED);
    ratecell_limiter_free(limiter);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    static char bytes[1 << 20];
    size_t len = fread(bytes, 1, sizeof(bytes), file);
    CHECK(fclose(file) == 0 && len == size());
    size_t found = 0;
    for (size_t i = 0; i + 6 <= len; i++) {
        found += memcmp(bytes + i, "denied", 6) == 0;
    }
    CHECK_U64(found, 1);
    CHECK(unlink(path) == 0);
}

static void a_new_file_is_its_owner_s(void) {
    static const mode_t masks[] = { 0, 022, 077 };
    for (size_t i = 0; i < CHECK_COUNT(masks); i++) {
        mode_t before = umask(masks[i]);
        check_case("a new file under umask %o", (unsigned)masks[i]);
        keeps(POLICY);
        CHECK_U64(mode(), 0600);
        umask(before);
        CHECK(unlink(path) == 0);
    }
}

static void an_empty_file_keeps_its_mode(void) {
    static const mode_t modes[] = { 0600, 0660, 0666, 0640 };
    for (size_t i = 0; i < CHECK_COUNT(modes); i++) {
        check_case("an empty file of mode %o", (unsigned)modes[i]);
        file_write(path, "", 0);
        CHECK(chmod(path, modes[i]) == 0);
        keeps("fixed_window 10/w start=first");
        CHECK_U64(mode(), modes[i]);
        CHECK(unlink(path) == 0);
    }
}

/* As a process leaves it that was killed before it wrote the header. */
static void zeros_become_a_region(void) {
    static const size_t lengths[] = { 1, 8, REGION_HEADER - 1, REGION_HEADER, 4096, 100000 };
    for (size_t i = 0; i < CHECK_COUNT(lengths); i++) {
        void *zeros = region_memory(lengths[i]);
        check_case("%zu zeros", lengths[i]);
        file_write(path, zeros, lengths[i]);
        free(zeros);
        keeps(POLICY);
        CHECK(unlink(path) == 0);
    }
}

/* Refused by a status, and the file is byte for byte as it was. */
static void stays(const void *bytes, size_t len, const char *policy, const ratecell_config *config,
                  int32_t status, const char *word) {
    size_t after = 0;
    file_write(path, bytes, len);
    FILE_REFUSED(path, policy, config, status, word);
    unsigned char *found = file_read(path, &after);
    CHECK_U64(after, len);
    CHECK(memcmp(found, bytes, len) == 0);
    free(found);
}

static void another_s_file_is_left_as_it_is(void) {
    unsigned char *zeros = region_memory(100000);
    check_case("another's file");
    stays("\n", 1, POLICY, NULL, RATECELL_EREGION_NONE, "not a region");
    stays("a text, and no region", 21, POLICY, &few, RATECELL_EREGION_NONE, "not a region");
    stays("RATECELL", 8, POLICY, &few, RATECELL_EREGION_LAYOUT, "layout");
    check_case("zeros and a byte at the end");
    zeros[99999] = 1;
    stays(zeros, 100000, POLICY, NULL, RATECELL_EREGION_NONE, "not a region");
    free(zeros);
    CHECK(unlink(path) == 0);
}

static void a_region_of_something_else_is_left_as_it_is(void) {
    ratecell_config other = few;
    size_t len = 0;
    ratecell_limiter_free(OPENED(path, "fixed_window 10/w", &few));
    unsigned char *bytes = file_read(path, &len);
    const char *policy = "fixed_window 10/w";

    check_case("a file that was cut");
    for (size_t part = 1; part < len; part += part < REGION_HEADER ? 73 : 997) {
        /* The words after the checksum, the sixteenth, are zeros until the clock. */
        int32_t status = part < 16 ? RATECELL_EREGION_LAYOUT : RATECELL_EREGION_DAMAGED;
        status = part < 8 ? RATECELL_EREGION_NONE : part >= 128 ? RATECELL_EREGION_SMALL : status;
        stays(bytes, part, policy, NULL, status, "region");
    }
    stays(bytes, len - 1, policy, NULL, RATECELL_EREGION_SMALL, "too few");

    check_case("another policy");
    stays(bytes, len, "10/w", NULL, RATECELL_EREGION_WORDS, "expected gcra");
    stays(bytes, len, "fixed_window 10/h", NULL, RATECELL_EREGION_WORDS, "expected fixed of 1h");
    stays(bytes, len, "fixed_window 10/w & 1/s", NULL, RATECELL_EREGION_LAYERS, "expected 2");
    stays(bytes, len, "sliding_log 10/w", NULL, RATECELL_EREGION_NO_WORD, "sliding_log");
    other.max_keys = 100;
    stays(bytes, len, policy, &other, RATECELL_EREGION_MAX_KEYS, "expected 100");
    other = few;
    other.when_full = RATECELL_FULL_SHARE;
    stays(bytes, len, policy, &other, RATECELL_EREGION_WHEN_FULL, "expected share");

    check_case("a damaged header");
    bytes[40] ^= 1;
    stays(bytes, len, policy, NULL, RATECELL_EREGION_DAMAGED, "damaged");
    free(bytes);
    CHECK(unlink(path) == 0);
}

/* A file of another rate is refused, and left as it is; or it is followed, or changed for all. */
static void a_rate_that_is_another_is_followed_or_changed(void) {
    ratecell_config following = few, changing = few;
    char policy[64];
    following.flags = RATECELL_FOLLOW;
    changing.flags = RATECELL_CHANGE;
    check_case("a file of another rate");
    ratecell_limiter *maker = OPENED(path, "10/w", &few);
    FILE_REFUSED(path, "20/w", &few, RATECELL_EREGION_POLICY, "policy: `10/w` in force; expected `20/w` to have");
    ratecell_limiter *follower = OPENED(path, "20/w", &following);
    CHECK(ratecell_limiter_policy(follower, policy, sizeof policy) > 0);
    CHECK_TEXT(policy, "10/w");
    ratecell_limiter *changer = OPENED(path, "20/w", &changing);
    CHECK(ratecell_limiter_policy(maker, policy, sizeof policy) > 0);
    CHECK_TEXT(policy, "20/w");
    FILE_REFUSED(path, "10/w", &few, RATECELL_EREGION_POLICY, "`20/w` in force");
    ratecell_limiter_free(changer);
    ratecell_limiter_free(follower);
    ratecell_limiter_free(maker);
    CHECK(unlink(path) == 0);
    check_case("no file, which is made");
    ratecell_limiter_free(OPENED(path, "10/w", &following));
    CHECK(unlink(path) == 0);
    ratecell_limiter_free(OPENED(path, "10/w", &changing));
    CHECK(unlink(path) == 0);
}

/* Without a policy a file is followed, and none is made. */
static void without_a_policy_the_file_s_is_followed(void) {
    char policy[64];
    ratecell_limiter *maker = OPENED(path, "10/w burst=7", &few);
    ratecell_limiter *follower = OPENED(path, NULL, NULL);
    check_case("no policy");
    CHECK(ratecell_limiter_policy(follower, policy, sizeof policy) > 0);
    CHECK_TEXT(policy, "10/w burst=7");
    CHECK_STATUS(ratecell_limiter_check_at(maker, "key", 3, 3, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(region_remaining(follower, "key", 0), 4);
    ratecell_limiter_free(follower);
    ratecell_limiter_free(maker);
    CHECK(unlink(path) == 0);

    check_case("no policy, and no file");
    FILE_REFUSED(path, NULL, &few, RATECELL_EFILE, strerror(ENOENT));
    CHECK(access(path, F_OK) != 0);
    check_case("no policy, and nothing in the file");
    stays("", 0, NULL, &few, RATECELL_EREGION_NONE, "not a region");
    stays("\0\0\0\0\0\0\0", 8, NULL, &few, RATECELL_EREGION_NONE, "not a region");
    CHECK(unlink(path) == 0);
}

/* The boot that the header names is none, as after a restart of the machine: the file goes on, at its epoch. */
static void a_file_outlives_the_machine_s_run(void) {
    uint64_t before = 0, now = 0, epoch = 0, same = 1;
    size_t len = 0;
    ratecell_limiter *limiter = OPENED(path, POLICY, &few);
    check_case("another run of the machine");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 4, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_epoch(limiter, &epoch), 0);
    CHECK_STATUS(ratecell_limiter_now(limiter, &before), 0);
    ratecell_limiter_free(limiter);
    for (int restart = 0; restart < 3; restart++) {
        uint64_t *words = (void *)file_read(path, &len);
        void *region = region_memory(len);
        /* The copy of the clock that counts, by the lowest bit of word 48: its offset, and the boot. */
        size_t copy = 49 + words[48] % 2 * 4;
        CHECK_U64(words[48], (uint64_t)restart);
        words[copy] -= 12345;
        words[copy + 1] += 1;
        words[copy + 2] += 1;
        file_write(path, words, len);
        memcpy(region, words, len);
        REFUSED(region, len, POLICY, NULL, RATECELL_EREGION_BOOT, "boot");
        limiter = OPENED(path, POLICY, NULL);
        CHECK_U64(region_remaining(limiter, "key", 0), 6);
        CHECK_STATUS(ratecell_limiter_epoch(limiter, &same), 0);
        CHECK_U64(same, epoch);
        /* By the wall clock, which may have been set a little, forward or back. */
        CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
        CHECK(now + UINT64_C(3600000000000) >= before && before + UINT64_C(3600000000000) >= now);
        ratecell_limiter_free(limiter);
        free(region);
        free(words);
    }
    CHECK(unlink(path) == 0);
}

/* A clock that another time namespace has, telling another time than here. */
static void a_file_of_another_clock_is_refused(void) {
    size_t len = 0;
    ratecell_limiter_free(OPENED(path, POLICY, &few));
    uint64_t *words = (void *)file_read(path, &len);
    check_case("another time namespace");
    words[49] += UINT64_C(3600000000000);
    words[52] += 1;
    stays(words, len, POLICY, NULL, RATECELL_EREGION_TIME_NAMESPACE, "time namespace");
    free(words);
    CHECK(unlink(path) == 0);
}

static void what_the_system_refuses_is_told_in_its_words(void) {
    char name[300];
    check_case("a directory");
    FILE_REFUSED(folder, POLICY, NULL, RATECELL_EFILE, strerror(EISDIR));
    check_case("no folder");
    snprintf(name, sizeof name, "%s/none/file", folder);
    FILE_REFUSED(name, POLICY, NULL, RATECELL_EFILE, strerror(ENOENT));
    check_case("a folder that is a file");
    file_write(path, "", 0);
    snprintf(name, sizeof name, "%s/file", path);
    FILE_REFUSED(name, POLICY, NULL, RATECELL_EFILE, strerror(ENOTDIR));
    CHECK(unlink(path) == 0);
    check_case("no name");
    FILE_REFUSED("", POLICY, NULL, RATECELL_EFILE, strerror(ENOENT));
    check_case("a link to itself");
    CHECK(symlink(path, path) == 0);
    FILE_REFUSED(path, POLICY, NULL, RATECELL_EFILE, strerror(ELOOP));
    CHECK(unlink(path) == 0);
    check_case("a name that is too long");
    memset(name, 'a', sizeof name - 1);
    memcpy(name, "/tmp/", 5);
    name[sizeof name - 1] = '\0';
    FILE_REFUSED(name, POLICY, NULL, RATECELL_EFILE, strerror(ENAMETOOLONG));
    /* Neither is waited for, nor read to its end. */
    check_case("a pipe");
    CHECK(mkfifo(path, 0600) == 0);
    FILE_REFUSED(path, POLICY, NULL, RATECELL_EFILE, "not a regular file");
    CHECK(unlink(path) == 0);
    check_case("a device");
    FILE_REFUSED("/dev/zero", POLICY, NULL, RATECELL_EFILE, "not a regular file");
    FILE_REFUSED("/dev/null", POLICY, NULL, RATECELL_EFILE, "not a regular file");
    check_case("where the config is bad, a file is not made");
    ratecell_config bad = few;
    bad.when_full = 4;
    snprintf(name, sizeof name, "%s/absent", folder);
    FILE_REFUSED(name, POLICY, &bad, RATECELL_ECONFIG, "config");
    FILE_REFUSED(name, "10", &few, RATECELL_EPOLICY_SYNTAX, "column 1");
    CHECK(access(name, F_OK) != 0);
}

/* Of the super-user nothing is refused by a mode: such a one asks as somebody else. */
static int as_anybody(void (*run)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
            _exit(2);
        }
        run();
        _exit(CHECK_END() == EXIT_SUCCESS ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void is_refused_by_its_mode(void) {
    FILE_REFUSED(path, POLICY, &few, RATECELL_EFILE, strerror(EACCES));
    FILE_REFUSED(path, POLICY, &few, RATECELL_EFILE, "expected one that user");
}

static void is_refused_by_its_folder(void) {
    FILE_REFUSED(path, POLICY, &few, RATECELL_EFILE, strerror(EACCES));
    FILE_REFUSED(path, POLICY, &few, RATECELL_EFILE, "a directory in which user");
}

static void a_mode_is_heeded(void) {
    static const mode_t modes[] = { 0, 0444, 0222 };
    CHECK(chmod(folder, 0555) == 0);
    check_case("a folder of mode 555");
    CHECK_STATUS(as_anybody(is_refused_by_its_folder), 0);
    CHECK(chmod(folder, 0755) == 0);
    ratecell_limiter_free(OPENED(path, POLICY, &few));
    for (size_t i = 0; i < CHECK_COUNT(modes); i++) {
        check_case("a file of mode %o", (unsigned)modes[i]);
        CHECK(chmod(path, modes[i]) == 0);
        CHECK_STATUS(as_anybody(is_refused_by_its_mode), 0);
    }
    CHECK(unlink(path) == 0);
}

static void a_child_opens_it_too(void) {
    int status = 0;
    ratecell_limiter *limiter = OPENED(path, POLICY, &few);
    check_case("a child");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, 0, NULL), RATECELL_ALLOWED);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        ratecell_limiter *own = NULL;
        int right = ratecell_limiter_open(path, POLICY, NULL, &own) == 0;
        right = right && region_remaining(own, "key", 0) == 8;
        right = right && ratecell_limiter_check_at(own, "key", 3, 3, 0, NULL) == RATECELL_ALLOWED;
        /* The parent's limiter goes on here, too, with the same keys. */
        right = right && ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL) == RATECELL_ALLOWED;
        ratecell_limiter_free(own);
        ratecell_limiter_free(limiter);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK_U64(region_remaining(limiter, "key", 0), 4);
    /* A file that is removed stays for those who have it open. */
    CHECK(unlink(path) == 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 4, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    ratecell_limiter_free(limiter);
}

int main(void) {
    file_empty(folder, sizeof folder);
    CHECK(unlink(folder) == 0 && mkdir(folder, 0700) == 0);
    snprintf(path, sizeof path, "%s/region", folder);
    names_are_kept_if_they_are_asked_for();
    a_new_file_is_its_owner_s();
    an_empty_file_keeps_its_mode();
    zeros_become_a_region();
    another_s_file_is_left_as_it_is();
    a_region_of_something_else_is_left_as_it_is();
    a_rate_that_is_another_is_followed_or_changed();
    without_a_policy_the_file_s_is_followed();
    a_file_outlives_the_machine_s_run();
    a_file_of_another_clock_is_refused();
    what_the_system_refuses_is_told_in_its_words();
    a_mode_is_heeded();
    a_child_opens_it_too();
    CHECK(rmdir(folder) == 0);
    return CHECK_END();
}

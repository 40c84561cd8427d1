/* Memory and files for regions, and what is said of them. A program that includes it needs POSIX. */

#ifndef REGION_H
#define REGION_H

#include <ratecell.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_ALIGNMENT 64
/* 64 words of 8 bytes, and after them the directory: 64 entries of 32. */
#define REGION_HEADER 512
#define REGION_DIRECTORY 2048
/* Sections begin at multiples of it, from the directory's end on: the packings of the layers, the policy, the tables. */
#define REGION_SECTION 128
#define REGION_PACKING 64
#define REGION_POLICY 8320

/* Where the policy of a region of so many layers stands, and where its tables begin. */
size_t region_policy_at(size_t layers);
size_t region_tables_at(size_t layers);
/* How many layers the text of a policy has. */
size_t region_layers(const char *policy);

/* Zeroed memory of just so many bytes, at a multiple of REGION_ALIGNMENT; to be ended by free. */
void *region_memory(size_t len);
/* A region in memory just as large, with no limiter in it. */
void *region_new(const char *policy, const ratecell_config *config, size_t *len);
/* Memory that is shared with the processes forked off later. */
void *region_shared(size_t len);

/* Makes an empty file of a new name, which is written to path. */
void file_empty(char *path, size_t size);
/* A file with a region in it. */
void file_new(const char *policy, const ratecell_config *config, char *path, size_t size);
/* All that is in a file; to be ended by free. */
unsigned char *file_read(const char *path, size_t *len);
void file_write(const char *path, const void *bytes, size_t len);

/* Attaches, or ends the program. */
ratecell_limiter *region_attached(void *memory, size_t len, const char *policy, const char *file, int line);
ratecell_limiter *region_opened(const char *path, const char *policy, const ratecell_config *config,
                                const char *file, int line);
#define ATTACHED(memory, len, policy) region_attached((memory), (len), (policy), __FILE__, __LINE__)
#define OPENED(path, policy, config) region_opened((path), (policy), (config), __FILE__, __LINE__)

/* Checks that memory gives the status, no limiter, and a sentence in which word occurs; nothing of the memory is
 * changed. */
void region_refused(void *memory, size_t len, const char *policy, const ratecell_config *config,
                    int32_t status, const char *word, const char *file, int line);
#define REFUSED(memory, len, policy, config, status, word) \
    region_refused((memory), (len), (policy), (config), (status), (word), __FILE__, __LINE__)

/* The same of a file. */
void file_refused(const char *path, const char *policy, const ratecell_config *config, int32_t status,
                  const char *word, const char *file, int line);
#define FILE_REFUSED(path, policy, config, status, word) \
    file_refused((path), (policy), (config), (status), (word), __FILE__, __LINE__)

/* What a peek at a key says remains. */
uint64_t region_remaining(const ratecell_limiter *limiter, const char *key, uint64_t now_ns);

#endif

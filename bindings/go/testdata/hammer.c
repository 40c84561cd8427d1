/* Asks for one unit of a key again and again, in a file that other processes use as well, and tells how many it
 * got: hammer PATH POLICY KEY TIMES. It begins when its standard input ends. */

#include <ratecell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    ratecell_limiter *limiter = NULL;
    long admitted = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: hammer PATH POLICY KEY TIMES\n");
        return 2;
    }
    int32_t status = ratecell_limiter_open(argv[1], argv[2], NULL, &limiter);
    if (status < 0) {
        fprintf(stderr, "%s\n", ratecell_strerror(status));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    for (long i = atol(argv[4]); i > 0; i--) {
        status = ratecell_limiter_check(limiter, argv[3], strlen(argv[3]), 1, NULL);
        admitted += status == RATECELL_ALLOWED;
    }
    printf("%ld\n", admitted);
    ratecell_limiter_free(limiter);
    return 0;
}

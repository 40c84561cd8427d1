#include <ratecell.h>
#include <stdio.h>

int main(void)
{
    ratecell_limiter *limiter = NULL;
    int32_t status = ratecell_limiter_new("2/h", NULL, &limiter);
    for (int i = 0; i < 3 && status >= 0; i++)
        puts(ratecell_strerror(status = ratecell_limiter_check(limiter, "you", 3, 1, NULL)));
    ratecell_limiter_free(limiter);
    return status != RATECELL_DENIED;
}

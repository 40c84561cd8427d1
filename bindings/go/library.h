/* ratecell.h: beside this file, in lib, or where the system has it. */

#if defined(__has_include)
#if !__has_include(<ratecell.h>)
#error "ratecell's C library is not here: `make install` in a clone of ratecell puts it in place (see README.md)"
#endif
#endif

#include <ratecell.h>

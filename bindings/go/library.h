/* ratecell.h: beside this file, in lib, or where the system has it. */

#if defined(__has_include)
#if !__has_include(<ratecell.h>)
#error "ratecell's C library is not here: `make install` in a clone of ratecell puts it in place (see README.md)"
#endif
#endif

#include <ratecell.h>

/* Before 1.0 each minor version may break. */
#if RATECELL_VERSION_MAJOR != 0 || RATECELL_VERSION_MINOR != 1
#error "ratecell.h is of another version than this Go module needs, 0.1: run `make install` in a clone of ratecell at the module's tag, bindings/go/v0.1.z, or take the module of the library's version"
#endif

/* ratecell.h: in lib, which `make go` makes, or beside a library of a released module, or where the system has it. */

#if defined(__has_include)
#if !__has_include(<ratecell.h>)
#error "ratecell's C library is not here: a released version of this module has it for linux on amd64 and arm64, with glibc, and with musl by -tags musl; for other platforms `make install` in a clone of ratecell puts it in place (see README.md)"
#endif
#endif

#include <ratecell.h>

/* Before 1.0 each minor version may break. */
#if RATECELL_VERSION_MAJOR != 0 || RATECELL_VERSION_MINOR != 2
#error "ratecell.h is of another version than this Go module needs, 0.2: run `make install` in a clone of ratecell at the module's tag, bindings/go/v0.2.z, or take the module of the library's version"
#endif

/* Which of a module's libraries is linked, no C compiler says: it is what the build was told. */
#include <stdlib.h>
#if defined(__linux__) && !defined(__GLIBC__) && !defined(RATECELL_GO_MUSL)
#error "the C library of this compiler is musl: build with -tags musl"
#endif
#if defined(__GLIBC__) && defined(RATECELL_GO_MUSL)
#error "-tags musl needs a compiler for musl, such as CC=musl-gcc: this one is for glibc"
#endif

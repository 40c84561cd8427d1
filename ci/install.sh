#!/usr/bin/env bash
# Installs the C library, its headers and its pkg-config file, or removes them: `make install`.
#
#   ci/install.sh             PREFIX (/usr/local), LIBDIR, INCLUDEDIR and DESTDIR from the environment
#   ci/install.sh --remove
source "$(dirname "$0")/lib.sh"

prefix="${PREFIX:-/usr/local}"
libdir="${LIBDIR:-$prefix/lib}"
includedir="${INCLUDEDIR:-$prefix/include}"
dest="${DESTDIR:-}"
version="$(crate_version)"
so_version="$(so_version "$version")"
case "$prefix$libdir$includedir" in
*[!-A-Za-z0-9_./+~]*) echo "PREFIX, LIBDIR and INCLUDEDIR: expected no spaces or signs, got $prefix $libdir $includedir" >&2; exit 2 ;;
/*) ;;
*) echo "PREFIX is $prefix: expected an absolute path" >&2; exit 2 ;;
esac

if [ "${1:-}" = --remove ]; then
    rm -f "$dest$libdir"/libratecell.{a,so,so."$so_version",so."$version"} \
        "$dest$libdir/pkgconfig/ratecell.pc" "$dest$includedir"/ratecell.{h,hpp}
    exit
fi

ci/capi.sh target/capi-dist
install -d "$dest$libdir/pkgconfig" "$dest$includedir"
install -m 644 include/ratecell.h include/ratecell.hpp "$dest$includedir"
install -m 644 target/capi-dist/libratecell.a "$dest$libdir"
install -m 755 "target/capi-dist/libratecell.so.$version" "$dest$libdir"
ln -sf "libratecell.so.$version" "$dest$libdir/libratecell.so.$so_version"
ln -sf "libratecell.so.$so_version" "$dest$libdir/libratecell.so"
# In terms of the prefix, so that pkg-config can move them with it.
sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" \
    -e "s|@LIBDIR@|${libdir/#$prefix\//\${prefix\}/}|; s|@INCLUDEDIR@|${includedir/#$prefix\//\${prefix\}/}|" \
    -e "s|@DESCRIPTION@|$(manifest description)|; s|@URL@|$(manifest repository)|" \
    ratecell.pc.in >"$dest$libdir/pkgconfig/ratecell.pc"

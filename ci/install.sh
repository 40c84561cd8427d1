#!/usr/bin/env bash
# Installs the C library, its headers and what pkg-config and CMake find it by, or removes them: `make install`.
#
#   ci/install.sh             PREFIX (/usr/local), LIBDIR, INCLUDEDIR and DESTDIR from the environment, and BUILT, the folder
#                             of the libraries
#   ci/install.sh --build     builds what is to be installed, and installs nothing
#   ci/install.sh --remove
#
# What was built after the last change of the sources is not built again: the super-user needs no cargo to install it.
source "$(dirname "$0")/lib.sh"

prefix="${PREFIX:-/usr/local}"
libdir="${LIBDIR:-$prefix/lib}"
includedir="${INCLUDEDIR:-$prefix/include}"
dest="${DESTDIR:-}"
# Where CMake looks whatever the library's folder is called.
cmake="$prefix/share/cmake/ratecell"
version="$(crate_version)"
so_version="$(so_version "$version")"
built="${BUILT:-target/capi-dist}"

# Refuses the folder $2, which is named by the variable $1, where it cannot stand in the pkg-config file.
check() {
    case "$2" in
    *[!-A-Za-z0-9_./+~]*) echo "$1 is $2: expected no spaces or signs" >&2 && exit 2 ;;
    /*) ;;
    *) echo "$1 is $2: expected an absolute path" >&2 && exit 2 ;;
    esac
}

build() {
    local changed zones
    if [ -e "$built/libratecell.so.$version" ] && [ -e "$built/libratecell.a" ] && [ -e "$built/zones" ]; then
        changed="$(find src crates/ratecell-core crates/ratecell-rules build.rs Cargo.toml Cargo.lock ci/capi.sh ci/lib.sh -newer "$built/libratecell.a" -print -quit)"
        zones="$(cat "$built/zones")"
        if [ -z "$changed" ] && [ "${ZONES:-$zones}" = "$zones" ]; then return 0; fi
    fi
    command -v cargo >/dev/null || {
        echo "missing: cargo (https://rustup.rs); or run \`make lib\` as your user first" >&2
        exit 1
    }
    ci/capi.sh "$built"
}

check PREFIX "$prefix"
check LIBDIR "$libdir"
check INCLUDEDIR "$includedir"

if [ "${1:-}" = --remove ]; then
    rm -f "$dest$libdir"/libratecell.{a,so,so."$so_version",so."$version"} \
        "$dest$libdir/pkgconfig/ratecell.pc" "$dest$includedir"/ratecell.{h,hpp} "$dest$cmake"/ratecell-config{,-version}.cmake
    exit
fi

build
if [ "${1:-}" = --build ]; then exit; fi
install -d "$dest$libdir/pkgconfig" "$dest$includedir" "$dest$cmake"
install -m 644 include/ratecell.h include/ratecell.hpp "$dest$includedir"
install -m 644 contrib/cmake/*.cmake "$dest$cmake"
install -m 644 "$built/libratecell.a" "$dest$libdir"
install -m 755 "$built/libratecell.so.$version" "$dest$libdir"
ln -sf "libratecell.so.$version" "$dest$libdir/libratecell.so.$so_version"
ln -sf "libratecell.so.$so_version" "$dest$libdir/libratecell.so"
description="$(manifest description)"
url="$(manifest repository)"
pc="$(mktemp)"
trap 'rm -f "$pc"' EXIT
# In terms of the prefix, so that pkg-config can move them with it.
sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" \
    -e "s|@LIBDIR@|${libdir/#$prefix\//\${prefix\}/}|; s|@INCLUDEDIR@|${includedir/#$prefix\//\${prefix\}/}|" \
    -e "s|@DESCRIPTION@|$description|; s|@URL@|$url|" \
    ratecell.pc.in >"$pc"
install -m 644 "$pc" "$dest$libdir/pkgconfig/ratecell.pc"
# A package's own scripts do it for what is below DESTDIR.
if [ -z "$dest" ]; then
    if [ "$EUID" = 0 ]; then ldconfig; else echo "programs find the library after \`sudo ldconfig\`, or by LD_LIBRARY_PATH=$libdir"; fi
fi

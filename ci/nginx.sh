#!/usr/bin/env bash
# The nginx module: built for the nginx that is installed, and tested with it, and built into an nginx of that version.
#
#   ci/nginx.sh              builds and tests
#   ci/nginx.sh --build      builds alone, and prints where the module is
#   ci/nginx.sh --optimised  builds an nginx with the module in it alone, with the module's flags, and prints where it is
#   ci/nginx.sh --install    builds, and installs as Debian does, below DESTDIR
#   ci/nginx.sh TEST...      builds, and runs these tests of bindings/nginx/tests alone
#
# RATECELL_NGINX_STATIC and RATECELL_PROGRAM name an nginx with the module in it and the program `ratecell`, to test with
# instead of building them.
source "$(dirname "$0")/lib.sh"

name=ngx_http_ratecell_module
sources=/usr/share/nginx/src
out="$target/nginx"
static="$target/nginx-static"
static_flags=-O0
module_flags="-O2 -g -fstack-protector-strong"
mkdir -p "$out"

missing=()
command -v nginx >/dev/null || missing+=("nginx (Debian: nginx)")
[ -x "$sources/configure" ] || missing+=("nginx's headers (Debian: nginx-dev)")
command -v python3 >/dev/null || missing+=("python3 (Debian: python3)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

# The value of one of the arguments with which nginx was configured.
configured() {
    local value
    value="$(nginx -V 2>&1 | tr ' ' '\n' | sed -n "s/^--$1=//p")"
    [ -n "$value" ] || { echo "nginx -V: expected --$1=…" >&2; exit 1; }
    echo "$value"
}

# Which nginx is built for: how it was configured, and which package of its sources there is.
nginx_here() {
    nginx -V 2>&1
    dpkg-query -W nginx nginx-dev 2>/dev/null || true
}

# Downloads nginx's own sources, of the version that is installed, from where apt has its packages: nginx-dev has only
# headers. The file `tarball` is not there where apt has none.
download() {
    local package version apt file
    version="$(nginx -v 2>&1 | sed 's/.*nginx\///; s/ .*//')"
    tarball="$static/nginx_$version.orig.tar.gz"
    if [ -f "$tarball" ]; then return; fi
    mkdir -p "$static/apt/sources.list.d" "$static/apt/lists/partial" "$static/apt/cache/archives/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        case "$file" in *.list | *.sources) ;; *) continue ;; esac
        if [ ! -r "$file" ]; then continue; fi
        sed 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$file" >"$static/apt/${file#/etc/apt/}"
    done
    apt=(apt-get -qq -o "Dir::Etc::SourceList=$static/apt/sources.list"
        -o "Dir::Etc::SourceParts=$static/apt/sources.list.d" -o "Dir::State::Lists=$static/apt/lists"
        -o "Dir::Cache=$static/apt/cache" -o APT::Sandbox::User=)
    # Other repositories may have no sources.
    "${apt[@]}" update >"$static/apt.log" 2>&1 || true
    for package in "nginx=$(dpkg-query -W -f '${source:Version}' nginx 2>/dev/null)" nginx; do
        (cd "$static" && "${apt[@]}" source --download-only --tar-only "$package") >>"$static/apt.log" 2>&1 || true
        if [ -f "$tarball" ]; then break; fi
    done
    rm -rf "$static/apt"
}

# An nginx with the module built in: RATECELL_NGINX_STATIC is its path.
build_static() {
    nginx_here >"$out/static.now"
    if ! cmp -s "$out/static.now" "$static/nginx.txt"; then
        rm -rf "$static"
        mkdir -p "$static"
    fi
    download
    if [ ! -f "$tarball" ]; then
        left_out "nginx with the module built in: apt has no ${tarball##*/}"
        return
    fi
    mv "$out/static.now" "$static/nginx.txt"
    if [ ! -f "$static/objs/Makefile" ] || [ bindings/nginx/config -nt "$static/objs/Makefile" ]; then
        rm -rf "$static/objs" "$static/sources"
        mkdir "$static/sources"
        tar -xzf "$tarball" -C "$static/sources" --strip-components=1
        (cd "$static/sources" && ./configure --builddir="$static/objs" --with-cc-opt="$static_flags" \
            --with-http_realip_module --with-http_auth_request_module --add-module="$OLDPWD/bindings/nginx") \
            >"$static/configure.log" 2>&1 || { tail -n 5 "$static/configure.log" >&2; exit 1; }
    fi
    if [ "$RATECELL_LIBRARY" -nt "$static/objs/nginx" ]; then rm -f "$static/objs/nginx"; fi
    make --no-print-directory --silent -j2 -f "$static/objs/Makefile" -C "$static/sources" >&2
    export RATECELL_NGINX_STATIC="$static/objs/nginx"
    no_global_names "$RATECELL_NGINX_STATIC"
}

# Another module may hold another version of the library.
no_global_names() {
    if nm -D --defined-only "$1" | grep ' ratecell_' >&2; then
        echo "$1: expected that no name of the library is global" >&2
        exit 1
    fi
}

library() {
    ci/capi.sh "$out/lib" >&2
    export RATECELL_LIBRARY="$out/lib/libratecell.a"
}

# Configured once, until what the configuration depends on is newer, and from nothing for another nginx.
build() {
    library
    nginx_here >"$out/nginx.now"
    if ! cmp -s "$out/nginx.now" "$out/nginx.txt"; then
        rm -rf "$out/objs"
        mv "$out/nginx.now" "$out/nginx.txt"
    fi
    if [ ! -f "$out/objs/Makefile" ] || [ bindings/nginx/config -nt "$out/objs/Makefile" ]; then
        (cd "$sources" && ./configure --with-compat --builddir="$out/objs" \
            --add-dynamic-module="$OLDPWD/bindings/nginx" \
            --with-cc-opt="$module_flags -Wall -Wextra -Wno-unused-parameter -Werror") \
            >"$out/configure.log" 2>&1 || { tail -n 5 "$out/configure.log" >&2; exit 1; }
    fi
    # nginx's makefile does not know that the module depends on the library.
    if [ "$RATECELL_LIBRARY" -nt "$out/objs/$name.so" ]; then rm -f "$out/objs/$name.so"; fi
    make --no-print-directory --silent -f "$out/objs/Makefile" -C "$sources" modules >&2
    no_global_names "$out/objs/$name.so"
}

# What fills the files of leases that tests use.
build_agent() {
    local triple server
    server="$(command -v valkey-server || command -v redis-server || true)"
    if [ -z "$server" ]; then
        echo "missing: redis-server or valkey-server (Debian: redis-server)" >&2
        exit 1
    fi
    triple="$(host)"
    cargo build --quiet --release --package ratecell-cli --bin ratecell --target "$triple"
    export RATECELL_PROGRAM="$target/$triple/release/ratecell"
}

install_module() {
    local dest="${DESTDIR:-}" modules
    modules="$(configured modules-path)"
    install -d "$dest$modules" "$dest/usr/share/nginx/modules-available" "$dest/etc/nginx/modules-enabled"
    install -m 644 "$out/objs/$name.so" "$dest$modules"
    echo "load_module $modules/$name.so;" >"$dest/usr/share/nginx/modules-available/mod-http-ratecell.conf"
    ln -sf /usr/share/nginx/modules-available/mod-http-ratecell.conf \
        "$dest/etc/nginx/modules-enabled/50-mod-http-ratecell.conf"
}

case "${1:-}" in
--build)
    build
    echo "$out/objs/$name.so"
    ;;
--optimised)
    static="$target/nginx-optimised"
    static_flags="$module_flags"
    library
    build_static >&2
    [ -n "${RATECELL_NGINX_STATIC:-}" ] || exit 1
    echo "$RATECELL_NGINX_STATIC"
    ;;
--install)
    build
    install_module
    ;;
-*) usage ;;
*)
    build
    [ -n "${RATECELL_NGINX_STATIC:-}" ] || build_static
    [ -n "${RATECELL_PROGRAM:-}" ] || build_agent
    export RATECELL_NGINX_MODULE="$out/objs/$name.so" RATECELL_SHARED_LIBRARY="$out/lib/libratecell.so"
    if [ $# -gt 0 ]; then tests=("$@"); else tests=(discover); fi
    (cd bindings/nginx/tests && python3 -B -m unittest "${tests[@]}")
    [ "$EUID" = 0 ] || left_out "nginx's file refused to another user: only the super-user can be another"
    ;;
esac

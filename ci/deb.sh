#!/usr/bin/env bash
# Debian's packages: the C library, its headers, the program and the nginx module.
#
#   ci/deb.sh OUT        builds them into the folder OUT
#   ci/deb.sh            builds them, and tests them: by lintian, and installed on a machine without Rust
#
# What is linked into them is of this machine's Debian, and the module of its nginx.
source "$(dirname "$0")/lib.sh"

missing=()
for tool in dpkg-buildpackage:dpkg-dev dh:debhelper dh_nginx:nginx-dev nginx:nginx help2man:help2man; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool%%:*} (Debian: ${tool#*:})")
done
if [ $# -eq 0 ]; then command -v lintian >/dev/null || missing+=("lintian (Debian: lintian)"); fi
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

version="$(crate_version)"
so_version="$(so_version "$version")"
work="$target/deb"
tree="$work/ratecell-$version"
out="${1:-$work/packages}"

# The folder debian of a source package.
staged() {
    local url maintainer date
    url="$(manifest repository)"
    maintainer="$(sed -n 's/^Maintainer: //p' contrib/debian/control.in)"
    # Two builds are the same bytes.
    date="$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
    rm -rf "$work"
    mkdir -p "$tree"
    cp -r contrib/debian "$tree"
    mv "$tree/debian/libratecell.install" "$tree/debian/libratecell$so_version.install"
    cp contrib/ratecell-export.service "$tree/debian/ratecell.ratecell-export.service"
    sed "s|@SO@|$so_version|; s|@URL@|$url|" "$tree/debian/control.in" >"$tree/debian/control"
    printf 'ratecell (%s) unstable; urgency=medium\n\n  * A new version.\n\n -- %s  %s\n' \
        "$version" "$maintainer" "$date" >"$tree/debian/changelog"
}

# The day of the last commit, or today where there are none.
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || date +%s)"
export SOURCE_DATE_EPOCH SOURCE="$PWD"
staged
# Cargo is not one of Debian's here.
if ! (cd "$tree" && dpkg-buildpackage --build=binary --no-sign) >"$work/build.log" 2>&1; then
    cat "$work/build.log" >&2
    exit 1
fi
mkdir -p "$out"
rm -f "$work"/*-dbgsym_*.deb
mv "$work"/*.deb "$out"
if [ $# -gt 0 ]; then
    ls "$out"
    exit
fi
lintian --fail-on error,warning "$out"/*.deb

# A machine without Rust that has the packages: this one, in a view that is thrown away.
view="$work/view"
mkdir -p "$view"
if ! unshare --mount bash -euc "mount -t tmpfs none '$view' && mkdir '$view'/{upper,work,root} &&
    mount -t overlay overlay -o 'lowerdir=/,upperdir=$view/upper,workdir=$view/work' '$view/root'" 2>/dev/null; then
    left_out "Debian's packages installed on a machine without Rust: no view of this one can be made here"
    exit
fi
export view out so_version version
export program="$PWD/ffi-tests/user/program.c" rust="${CARGO_HOME:-$HOME/.cargo} ${RUSTUP_HOME:-$HOME/.rustup}"
unshare --mount --pid --fork bash -euo pipefail <<'OUTSIDE'
mount -t tmpfs none "$view"
mkdir "$view"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$view/upper,workdir=$view/work" "$view/root"
root="$view/root"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
for folder in $rust; do
    if [ -d "$root$folder" ]; then mount -t tmpfs none "$root$folder"; fi
done
mkdir "$root/packages"
cp "$out"/*.deb "$program" "$root/packages"
# Nothing is started by what is installed.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 version="$version" so="$so_version" \
    bash -euo pipefail <<'INSIDE'
cd /packages
if command -v cargo rustc; then echo "expected a machine without Rust" >&2 && exit 1; fi
dpkg -i ./*.deb >log 2>&1 || { cat log >&2; exit 1; }
# shellcheck disable=SC2046 # flags are words
cc -Wall -Werror program.c $(pkg-config --cflags --libs ratecell) -o program
./program | grep -q ALLOWED
objdump -p program | grep -q "NEEDED *libratecell.so.$so"
[ "$(ratecell --version)" = "ratecell $version" ]
man --where ratecell >/dev/null
cat >/etc/nginx/conf.d/limited.conf <<'NGINX'
ratecell_zone $ratecell_client zone=api:1m rate=10r/s;
server { listen 127.0.0.1:18080; location / { ratecell zone=api; } }
NGINX
nginx -t 2>log || { cat log >&2; exit 1; }
rm /etc/nginx/conf.d/limited.conf
dpkg --purge ratecell libratecell-dev "libratecell$so" libnginx-mod-http-ratecell >log 2>&1 || { cat log >&2; exit 1; }
left="$(find /usr /etc -path /usr/local -prune -o -name '*ratecell*' -print)"
[ -z "$left" ] || { echo "purging leaves $left" >&2; exit 1; }
echo "installed, used and purged on a machine without Rust: ratecell, libratecell$so, libratecell-dev, libnginx-mod-http-ratecell"
INSIDE
OUTSIDE

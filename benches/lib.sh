# shellcheck shell=bash
# A store and the agents of machine files, for the scripts of benches/ that need them. What it starts ends with the script.

store_started=()
store_folder=""

# The agents end before the store.
stores_end() {
    local i
    for ((i = ${#store_started[@]} - 1; i >= 0; i--)); do
        kill -CONT "${store_started[i]}" 2>/dev/null || true
        kill "${store_started[i]}" 2>/dev/null || true
        wait "${store_started[i]}" 2>/dev/null || true
    done
    rm -rf "$store_folder"
}

# Starts a store that keeps nothing on disk, in a new folder: $store_folder/socket is its Unix socket.
start_store() {
    local server="${RATECELL_REDIS_SERVER:-redis-server}"
    command -v "$server" >/dev/null || { echo "missing: $server (Debian: redis-server)" >&2; exit 1; }
    store_folder="$(mktemp -d)"
    trap stores_end EXIT
    "$server" --port 0 --unixsocket "$store_folder/socket" --dir "$store_folder" --save '' --appendonly no \
        --daemonize no >"$store_folder/store.log" 2>&1 &
    store_started+=($!)
    await "$store_folder/socket" "$store_folder/store.log"
}

# Starts an agent of the file $store_folder/$1, which is of the limit named $2 with the policy $3, with room for $4 keys;
# AGENT is the program `ratecell`.
start_agent() {
    "$AGENT" sync "$store_folder/$1" "unix:$store_folder/socket" --name "$2" --policy "$3" --max-keys "$4" \
        >"$store_folder/$1.log" 2>&1 &
    store_started+=($!)
    await "$store_folder/$1" "$store_folder/$1.log"
}

# Waits for the file $1, or shows the log $2 and ends.
await() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        if [ -e "$1" ]; then return; fi
        sleep 0.1
    done
    echo "$1: expected it within 30 s" >&2
    cat "$2" >&2
    exit 1
}

# Writes redis_rate's script, which is a string of its Go source, into the file $1. The sum is the module's, as go.sum has it.
redis_rate_script() {
    local redis_rate=github.com/go-redis/redis_rate/v10@v10.0.1
    local sum=h1:calPxi7tVlxojKunJwQ72kwfozdy25RjA0bCj1h0MUo=
    local module found folder
    module="$(cd "$store_folder" && go mod download -json "$redis_rate")"
    field() { sed -n "s/^\t\"$1\": \"\(.*\)\",*$/\1/p" <<<"$module"; }
    found="$(field Sum)"
    [ "$found" = "$sum" ] || { echo "$redis_rate: found the sum $found, expected $sum" >&2; exit 1; }
    folder="$(field Dir)"
    sed -n '/^var allowN = redis.NewScript(`/,/^`)/{//!p}' "$folder/lua.go" >"$1"
    grep -q emission_interval "$1" || { echo "$redis_rate: expected the script allowN in lua.go" >&2; exit 1; }
}

#!/usr/bin/env bash
# The units of many machines from Go and from Python: a store, an agent that fills a file, and their tests on that file.
# After ci/go.sh and ci/python.sh, with what they built.
source "$(dirname "$0")/lib.sh"

python="$target/python/bin/python"
for built in "$python" bindings/go/lib/libratecell.a; do
    [ -e "$built" ] || { echo "missing: $built (ci/go.sh, ci/python.sh)" >&2; exit 1; }
done
command -v redis-server >/dev/null || { echo "missing: redis-server (Debian: redis-server)" >&2; exit 1; }
triple="$(host)"
cargo build --quiet --release --target "$triple" --package ratecell-cli --bin ratecell
agent=("$target/$triple/release/ratecell" sync)
work="$(mktemp -d)"
started=()
# The agent ends before the store.
ended() {
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        kill -CONT "${started[i]}" 2>/dev/null || true
        kill "${started[i]}" 2>/dev/null || true
        wait "${started[i]}" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap ended EXIT

redis-server --port 0 --unixsocket "$work/store" --save '' --daemonize no >"$work/store.log" 2>&1 &
started+=($!)
for ((i = 0; i < 200; i++)); do
    [ ! -S "$work/store" ] || break
    sleep 0.1
done
[ -S "$work/store" ] || { cat "$work/store.log" >&2; exit 1; }
"${agent[@]}" "$work/leases" "unix:$work/store" --name tests --policy '1000/h burst=1000' >"$work/agent.log" 2>&1 &
started+=($!)
export RATECELL_LEASED_FILE="$work/leases" RATECELL_LEASED_AGENT="${started[1]}"
for ((i = 0; i < 200; i++)); do
    [ ! -s "$RATECELL_LEASED_FILE" ] || break
    sleep 0.1
done
[ -s "$RATECELL_LEASED_FILE" ] || { echo "${agent[*]}: expected it to make the file within 20 s" >&2; cat "$work/agent.log" >&2; exit 1; }

go_settings
echo "-- Go"
(cd bindings/go && go test -count 1 -v -run '^Test(AMiss|ATry|ALineDoesNotWait|AFileOfLeases|OnlyLeases)' . >"$work/go" 2>&1) || { cat "$work/go" "$work/agent.log" >&2; exit 1; }
if grep -- '--- SKIP' "$work/go"; then echo "Go skipped tests of leases" >&2 && exit 1; fi
grep -c -- '--- PASS' "$work/go"
echo "-- Python"
(cd bindings/python && "$python" -m pytest -q tests/test_leases.py >"$work/python" 2>&1) || { cat "$work/python" "$work/agent.log" >&2; exit 1; }
tail -n 1 "$work/python"
if grep -q skipped "$work/python"; then echo "Python skipped tests of leases" >&2 && exit 1; fi
echo "-- the metrics, by the program"
"${agent[0]}" stats "$work/leases" --json | grep '"connected":true' >/dev/null
"${agent[0]}" export "$work/leases" --listen 127.0.0.1:0 >"$work/export" 2>&1 &
started+=($!)
"$python" - "$work/export" <<'END'
import pathlib, re, sys, time, urllib.request

said, deadline = pathlib.Path(sys.argv[1]), time.monotonic() + 20
while not (found := re.search(r"http://\S+", said.read_text())):
    if time.monotonic() > deadline:
        sys.exit(f"expected an address within 20 s: {said.read_text()}")
    time.sleep(0.01)
text = urllib.request.urlopen(found[0]).read().decode()
exported = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
listed = set(re.findall(r"^\| `(ratecell_\w+)`", pathlib.Path("docs/OPERATIONS.md").read_text(), re.MULTILINE))
# What the servers count themselves, and what a file of leases does not.
if exported != listed - {"ratecell_requests_total", "ratecell_denied_requests_total"}:
    sys.exit(f"of a file of leases are exported and listed: {exported ^ listed}")
values = dict(re.findall(r"^(ratecell_\w+)\{.*\} (\S+)$", text, re.MULTILINE))
if values["ratecell_connected"] != "1" or float(values["ratecell_leased_units_total"]) <= 0:
    sys.exit(text)
END
echo "-- another policy, by the program"
"${agent[0]}" change "unix:$work/store" --name tests --policy '2000/h burst=1500'
"$python" - "$RATECELL_LEASED_FILE" <<'END'
import sys, time
from ratecell import Limiter

limiter, deadline = Limiter(path=sys.argv[1]), time.monotonic() + 20
while limiter.policy != "2000/h burst=1500":
    if time.monotonic() > deadline:
        sys.exit(f"expected the file to follow within 20 s: {limiter.policy}")
    time.sleep(0.01)
# By one lease after the other.
allowed, started = 0, time.monotonic()
while allowed < 1400 and time.monotonic() < started + 20:
    allowed += bool(limiter.check("changed"))
most = 1500 + 2000 / 3600 * (time.monotonic() - started) + 1
if not 1400 <= allowed <= most:
    sys.exit(f"expected more than the 1000 of before, and at most {most:.0f} units: {allowed}")
END
if "${agent[0]}" change "unix:$work/store" --name tests --policy 'fixed_window 1/1h' 2>"$work/refused"; then
    echo "another algorithm follows" >&2 && exit 1
fi
cat "$work/refused"

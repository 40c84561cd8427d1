#!/usr/bin/env bash
# All of it: what `make test` runs, and so what CI runs.
#
#   ci/all.sh           every part
#   ci/all.sh PART...   only these
#
# Two lanes run side by side, each one part at a time. What a part prints is shown when it ends. Once one has failed no
# other is started, and its text is shown last, below the table of times. With CI=true it also fails if a part says that
# it leaves something out.
source "$(dirname "$0")/lib.sh"

# What computes, and what often waits: for a compiler's one thread, a server, other processes. Two of one lane may share
# a folder of cargo's, or target/capi-dist, and a part may need what one above it built. systems, miri and msrv have folders
# of their own, so that either lane could take them. What fails soonest comes first.
computing=(test loom "loom --mutate" fuzz vectors demo systems miri)
waiting=(lint proofs go python node java site nginx deb serve envoy example together leased store many-machines msrv c broken)

parts=("${computing[@]}" "${waiting[@]}")
# Whether the part $1 is among the arguments that follow.
among() {
    case "$(printf '/%s' "${@:2}")/" in
    */"$1"/*) echo yes ;;
    esac
}
chosen=("$@")
if [ $# -eq 0 ]; then chosen=("${parts[@]}"); fi
for part in "${chosen[@]}"; do
    known="$(among "$part" "${parts[@]}")"
    if [ -z "$known" ]; then usage; fi
done

logs="$target/logs"
rm -rf "$logs"
mkdir -p "$logs"
export LEFT_OUT="$logs/left-out"
touch "$LEFT_OUT" "$logs/table"

# Runs those of the parts that are chosen. A line when one starts, and one when it ends: with the seconds that it took, and
# those that processors took for it.
lane() {
    local part words result times wall user system cpu wanted TIMEFORMAT='%R %U %S'
    for part in "$@"; do
        wanted="$(among "$part" "${chosen[@]}")"
        if [ -z "$wanted" ] || [ -e "$logs/failed" ]; then continue; fi
        echo "starts - - $part"
        read -ra words <<<"$part"
        result=passed
        { time "ci/${words[0]}.sh" "${words[@]:1}" </dev/null >"$logs/$part" 2>&1; } 2>"$logs/time-$part" || result=failed
        if [ "$result" = failed ]; then echo "$part" >>"$logs/failed"; fi
        # Above the times stands what the shell says of a script that a signal ended.
        times="$(tail -n 1 "$logs/time-$part")"
        read -r wall user system <<<"$times"
        cpu="$(awk "BEGIN { print $user + $system }")"
        echo "$result $wall $cpu $part"
    done
}

# The sums of the table's columns would be no times of anything: the last line has the time on the wall.
row='%-16s %8.0f %8.0f  %s\n'
show() {
    local result wall cpu part
    while read -r result wall cpu part; do
        case "$result" in
        starts) echo "== $part starts" ;;
        passed)
            cat "$logs/$part"
            printf '== %s: passed, %.0f s\n' "$part" "$wall"
            ;;
        failed) printf '== %s: FAILED, %.0f s\n' "$part" "$wall" ;;
        esac
        # shellcheck disable=SC2059 # it is a format
        if [ "$result" != starts ]; then printf "$row" "$part" "$wall" "$cpu" "$result" >>"$logs/table"; fi
    done
}

ci/setup.sh --tools
started=$SECONDS
# Not in the background, where an interrupt would not reach them.
{ lane "${computing[@]}" >&3 | lane "${waiting[@]}" >&3; } 3>&1 </dev/null | show

echo
printf '%-16s %8s %8s\n' part seconds "on CPUs"
cat "$logs/table"
for part in "${chosen[@]}"; do
    grep -q "^$part  " "$logs/table" || { echo "$part: not run"; echo "$part: not run" >>"$logs/failed"; }
done
echo "all: $((SECONDS - started)) s"
if [ -s "$LEFT_OUT" ]; then
    echo "== left out here:"
    cat "$LEFT_OUT"
fi
if [ -e "$logs/failed" ]; then
    read -r part <"$logs/failed"
    echo "== $part: FAILED"
    if [ -e "$logs/$part" ]; then cat "$logs/$part"; fi
    exit 1
fi >&2
if [ -s "$LEFT_OUT" ] && [ "${CI:-}" = true ]; then
    echo "== something is left out, which CI=true forbids" >&2
    exit 1
fi

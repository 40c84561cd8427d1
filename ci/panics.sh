#!/usr/bin/env bash
# No panic, no abort and no unwinding can be reached from what decides: the calls in the machine code of the
# shared library are followed from each function that C calls. What else can panic catches it.
#
#   ci/panics.sh DIR    DIR: where ci/capi.sh built
source "$(dirname "$0")/lib.sh"

# What every panic of Rust goes through, and the end of a process. One name among them only tells whether
# a panic is under way: std's mutex asks, to poison itself.
fatal='panic|unwrap_failed|expect_failed|_fail$|handle_alloc_error|capacity_overflow|handle_error|rust_oom|abort|_Unwind'
harmless='panic_count17is_zero_slow_path|panic_count.*is_zero_slow_path'

# The names that can be reached from the function $1, one a line, and the indirect calls on the way.
reached() {
    awk -v root="$1" '
        /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); known[name]; next }
        # A call or a jump out of the function: "call 1234 <callee>" or "call *0x10(%rip) # 5678 <imported>".
        $2 ~ /^(call|j[a-z]+)$/ {
            # A jump to a register is a switch; a call to one, or either through a pointer in memory, is not.
            if (($2 == "call" && $3 ~ /^\*%/) || $3 ~ /^\*.*\(%r[^i]/) { indirect[name] = 1 }
            if (match($0, /<[^>+]+>$/)) {
                callee = substr($0, RSTART + 1, RLENGTH - 2)
                sub(/@.*/, "", callee)
                calls[name] = calls[name] " " callee
            }
        }
        END {
            if (!(root in known)) { print "no-such-function"; exit }
            todo[1] = root; count = 1; seen[root]
            for (at = 1; at <= count; at++) {
                print todo[at]
                if (todo[at] in indirect) { print "indirect-call-in:" todo[at] }
                n = split(calls[todo[at]], callees, " ")
                for (i = 1; i <= n; i++)
                    if (!(callees[i] in seen)) { seen[callees[i]]; todo[++count] = callees[i] }
            }
        }' "$target/capi.asm"
}

objdump -d --no-show-raw-insn "$1/libratecell.so" | sed 's/\(bnd\|notrack\) //' >"$target/capi.asm"
# What decides, and what is asked beside it: no panic is there at all.
deciding=(decide_all limiter_check limiter_check_at limiter_decide limiter_decide_batch limiter_forget
    limiter_now limiter_release limiter_renew limiter_settle limiter_stats strerror version_number)
# What parses, allocates (rules_decide: for the keys of its thread) or writes text: of a panic there, which would be a bug, a status is made.
guarded=(client_key clients_new fields limiter_epoch limiter_new limiter_open limiter_policy limiter_with_policy
    policy_explain policy_format region_attach region_init region_size rules_change rules_decide rules_fields rules_new
    waiting_event waiting_new zone_new)
# What gives memory back, and has no status.
ending=(clients_free limiter_free rules_free waiting_free zone_free)
placed="$(printf 'ratecell_%s\n' "${deciding[@]}" "${guarded[@]}" "${ending[@]}" | LC_ALL=C sort)"
diff -u ffi-tests/abi/symbols.txt - <<<"$placed" >&2 || { echo "expected every exported function in one list of $0" >&2; exit 1; }

for function in "${deciding[@]}"; do
    names="$(reached "ratecell_$function")"
    # std's mutex calls the kernel through a register, where it has to wait.
    if grep -Ev "$harmless|^indirect-call-in:.*Mutex.*lock_contended" <<<"$names" |
        grep -E "$fatal|^indirect|^no-such-function"; then
        echo "the above can be reached from ratecell_$function" >&2
        exit 1
    fi
    count="$(wc -l <<<"$names")"
    echo "ratecell_$function: $count functions reached, none that panics"
done
for function in "${guarded[@]}"; do
    names="$(reached "ratecell_$function")"
    grep -q 'catch_unwind.*cleanup' <<<"$names" || { echo "ratecell_$function catches no panic" >&2; exit 1; }
done
echo "${#guarded[@]} functions catch what panics in them"
# The search itself: what makes a limiter parses text and allocates.
names="$(reached ratecell_limiter_new)"
grep -q panic <<<"$names" || { echo "no panic is found where there are some" >&2; exit 1; }

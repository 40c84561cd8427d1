#!/usr/bin/env bash
# No panic, no abort and no unwinding can be reached from what decides: the calls in the machine code of the
# shared library are followed from each function that C calls. What else can panic catches it.
#
#   ci/panics.sh DIR    DIR: where ci/capi.sh built
source "$(dirname "$0")/lib.sh"

# What every panic of Rust goes through, and the end of a process. One name among them only tells whether
# a panic is under way: std's mutex asks, to poison itself. Three go on with a panic that has begun: where none begins,
# none of them is reached.
fatal='panic|unwrap_failed|expect_failed|_fail$|handle_alloc_error|capacity_overflow|handle_error|rust_oom|abort|_Unwind'
harmless='panic_count17is_zero_slow_path|panic_count.*is_zero_slow_path'
going_on='panic_cannot_unwind|panic_in_cleanup|_Unwind_Resume'
# What makes the regime of a policy that was changed: it parses and allocates, and catches what panics in it. What decides
# calls it after each change, once in each process. The drop of what it returns is followed.
later='Regimes.*later'

# What each function calls: its name, whether it has an indirect call, and the names of its callees, a line for each function.
graph() {
    awk '
        # A place that the loader fills with the address of a function of this library, which has no name there.
        FILENAME ~ /relocations$/ { if ($2 == "R_X86_64_RELATIVE") { sub(/.*\+0x0*/, "", $3); sub(/^0*/, "", $1); place[$1] = $3 } next }
        /^[0-9a-f]+ <.*>:$/ {
            name = $2; gsub(/[<>:]/, "", name); known[name]
            address = $1; sub(/^0*/, "", address); at_address[address] = name
            delete loaded # of each register that has the address of a function, its name, by the lines above
            next
        }
        # What stands at a place in memory that is named behind the instruction: "# 5678 <imported>".
        function named(    target, slot) {
            if (match($0, /# [0-9a-f]+ <[^>+]+>$/)) {
                target = substr($0, RSTART, RLENGTH); sub(/.*</, "", target); sub(/[>@].*/, "", target)
                return target
            }
            if (match($0, /# [0-9a-f]+ </)) {
                slot = substr($0, RSTART + 2, RLENGTH - 4)
                if (slot in place) { return "at:" place[slot] }
            }
            return ""
        }
        # The 64 bits of which a register of any width is a part.
        function whole(register) {
            sub(/^%/, "", register)
            if (register ~ /^r[0-9]+[bwd]$/) { sub(/[bwd]$/, "", register) }
            else if (register ~ /^e/) { sub(/^e/, "r", register) }
            else if (register ~ /^[abcd][lhx]$/) { register = "r" substr(register, 1, 1) "x" }
            else if (register ~ /^(si|di|bp|sp)l?$/) { sub(/l$/, "", register); register = "r" register }
            return register
        }
        function forget(registers,    each, n, i) {
            n = split(registers, each, " ")
            for (i = 1; i <= n; i++) { delete loaded[each[i]] }
        }
        # A call or a jump out of the function: "call 1234 <callee>" or "call *0x10(%rip) # 5678 <imported>".
        $2 ~ /^(call|j[a-z]+)$/ {
            # A jump to a register is a switch; a call to one, or either through a pointer in memory, is not. A register that
            # is called may have been loaded with the address of a function further up, perhaps before the loop around the
            # call. So a jump, and the place it leads to, leave the registers as they are in the order of the listing.
            if ($2 == "call" && $3 ~ /^\*%/) {
                register = whole(substr($3, 2))
                if (register in loaded) { calls[name] = calls[name] " " loaded[register] } else { indirect[name] = 1 }
            } else if ($3 ~ /^\*.*\(%r[^i]/) { indirect[name] = 1 }
            else if ($3 ~ /^\*/) {
                if ((callee = named()) != "") { calls[name] = calls[name] " " callee }
            } else if (match($0, /<[^>+]+>$/)) {
                callee = substr($0, RSTART + 1, RLENGTH - 2)
                sub(/@.*/, "", callee)
                calls[name] = calls[name] " " callee
            }
            # A function that was called leaves the other registers as they were.
            if ($2 == "call") { forget("rax rcx rdx rsi rdi r8 r9 r10 r11") }
            next
        }
        # Writes registers that it does not name.
        $2 ~ /^(lock|rep|mul|div|idiv|imul|cmpxchg|xadd|xchg|rdtsc|cpuid|cqto|cltd|cltq|cwtl|xgetbv|syscall)/ {
            forget("rax rbx rcx rdx rsi rdi r8 r9 r10 r11")
            if ($2 == "xchg") { delete loaded }
        }
        $2 !~ /^(cmp[bwlq]?|test[bwlq]?|push)$/ {
            operands = $0; sub(/ *#.*/, "", operands)
            if (match(operands, /%[a-z0-9]+$/)) {
                register = whole(substr(operands, RSTART, RLENGTH))
                delete loaded[register]
                if ($2 == "mov" && $3 ~ /\(%rip\),%r/ && (callee = named()) != "") { loaded[register] = callee }
            }
        }
        END {
            for (name in known) {
                n = split(calls[name], callees, " ")
                line = ""
                for (i = 1; i <= n; i++) {
                    callee = callees[i]
                    if (callee ~ /^at:/) {
                        sub(/^at:/, "", callee)
                        if (!(callee in at_address)) { indirect[name] = 1; continue }
                        callee = at_address[callee]
                    }
                    line = line " " callee
                }
                print name, (name in indirect ? "indirect" : "direct") line
            }
        }' "$target/capi.relocations" "$target/capi.asm"
}

# The names that can be reached from the function $1, one a line, and the indirect calls on the way. Names like $2 are not
# followed, unless it is the first.
reached() {
    awk -v root="$1" -v apart="$2" '
        {
            known[$1]
            if ($2 == "indirect") { indirect[$1] }
            name = $1; $1 = $2 = ""; calls[name] = $0
        }
        END {
            if (!(root in known)) { print "no-such-function"; exit }
            todo[1] = root; count = 1; seen[root]
            for (at = 1; at <= count; at++) {
                print todo[at]
                if (at > 1 && apart != "" && todo[at] ~ apart) { continue }
                if (todo[at] in indirect) { print "indirect-call-in:" todo[at] }
                n = split(calls[todo[at]], callees, " ")
                for (i = 1; i <= n; i++) {
                    if (!(callees[i] in seen)) { seen[callees[i]]; todo[++count] = callees[i] }
                }
            }
        }' "$target/capi.calls"
}

objdump -d --no-show-raw-insn "$1/libratecell.so" | sed 's/\(bnd\|notrack\) //' >"$target/capi.asm"
objdump -R "$1/libratecell.so" >"$target/capi.relocations"
graph >"$target/capi.calls"
# What decides, and what is asked beside it: no panic is there at all.
deciding=(decide_all limiter_check limiter_check_at limiter_decide limiter_decide_batch limiter_forget
    limiter_now limiter_release limiter_renew limiter_settle limiter_stats strerror version_number)
# What parses, allocates (rules_decide: for the keys of its thread) or writes text: of a panic there, which would be a bug, a status is made.
guarded=(client_key clients_new fields limiter_change limiter_epoch limiter_new limiter_open limiter_policy limiter_with_policy
    policy_explain policy_format region_attach region_init region_size rules_change rules_decide rules_fields rules_new rules_release
    rules_settle rules_stats waiting_event waiting_new zone_new)
# What gives memory back, and has no status.
ending=(clients_free limiter_free rules_free waiting_free zone_free)
placed="$(printf 'ratecell_%s\n' "${deciding[@]}" "${guarded[@]}" "${ending[@]}" | LC_ALL=C sort)"
diff -u ffi-tests/abi/symbols.txt - <<<"$placed" >&2 || { echo "expected every exported function in one list of $0" >&2; exit 1; }

for function in "${deciding[@]}"; do
    names="$(reached "ratecell_$function" "$later|$going_on")"
    # std's mutex calls the kernel through a register, where it has to wait.
    if grep -Ev "$harmless|$going_on|^indirect-call-in:.*Mutex.*lock_contended" <<<"$names" |
        grep -E "$fatal|^indirect|^no-such-function"; then
        echo "the above can be reached from ratecell_$function" >&2
        exit 1
    fi
    count="$(wc -l <<<"$names")"
    echo "ratecell_$function: $count functions reached, none that panics"
done
later_name="$(sed -n "s/^[0-9a-f]* <\(.*$later.*\)>:\$/\1/p" "$target/capi.asm")"
[[ "$later_name" =~ ^[^[:space:]]+$ ]] || { echo "expected one function like $later: got '$later_name'" >&2; exit 1; }
for function in "${guarded[@]/#/ratecell_}" "$later_name"; do
    names="$(reached "$function" "")"
    grep -q 'catch_unwind.*cleanup' <<<"$names" || { echo "$function catches no panic" >&2; exit 1; }
done
echo "${#guarded[@]} functions catch what panics in them, and what makes the regime of a changed policy does"
# The search itself: what makes a limiter parses text and allocates.
names="$(reached ratecell_limiter_new "")"
grep -q panic <<<"$names" || { echo "no panic is found where there are some" >&2; exit 1; }

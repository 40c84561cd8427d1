// Numbers as words.

/** Nanoseconds as seconds, rounded up to a thousandth, as a wait is; whole units above a minute are named. */
export function duration(ns) {
    if (ns === null) return "never";
    const milliseconds = (BigInt(ns) + 999_999n) / 1_000_000n;
    if (milliseconds < 60_000n) return `${Number(milliseconds) / 1000} s`;
    const seconds = Math.ceil(Number(milliseconds) / 1000);
    const units = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
    let left = seconds;
    const parts = [];
    for (const [name, length] of units) {
        const count = Math.floor(left / length);
        if (count > 0) parts.push(`${count} ${name}`);
        left -= count * length;
    }
    return parts.slice(0, 2).join(" ");
}

/** With thin spaces between groups of three. */
export function count(number) {
    return String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** A share of a whole, with two significant digits. */
export function share(part, whole) {
    if (whole === 0 || part === 0) return "0 %";
    return `${Number(((100 * part) / whole).toPrecision(2))} %`;
}

/** An instant of the session on the axis. */
export function instant(ns, spanNs) {
    const seconds = ns / 1e9;
    if (spanNs >= 3600e9) {
        const of = (length, over) => String(Math.floor(seconds / length) % over).padStart(2, "0");
        return `${of(3600, 24)}:${of(60, 60)}`;
    }
    return `${Number(seconds.toFixed(spanNs < 5e9 ? 1 : 0))} s`;
}

/** What is kept of a client, in a sentence. */
export function state(states, nowNs) {
    return states.map((one) => of(one, nowNs)).join(" ");
}

function of(one, nowNs) {
    const until = (instantNs) => duration(Math.max(0, instantNs - nowNs));
    switch (one.kind) {
        case "arrival_time":
            return `The arrival time is ${duration(one.ahead_ns)} ahead of now, of ${duration(one.room_ns)} at most.`;
        case "window":
            return one.used === 0
                ? "Nothing is counted."
                : `${one.used} in this window, which ends in ${until(one.end_ns)}.`;
        case "bucket":
            return one.refill_ns === null
                ? "The bucket is full."
                : `Tokens out: ${one.used}. The next come back in ${until(one.refill_ns)}.`;
        case "two_windows": {
            const over = Math.min(1, Math.max(0, (nowNs - one.start_ns) / one.length_ns));
            const weight = one.is_weighted ? `, which weighs ${(1 - over).toFixed(2)} of that` : "";
            return `${one.current} in this window and ${one.previous} in the one before${weight}.`;
        }
        case "log":
            return one.entries_ns.length === 0
                ? "The log is empty."
                : `${one.used} in the log; the oldest leaves in ${until(one.entries_ns[0] + one.length_ns)}.`;
        default:
            return "";
    }
}

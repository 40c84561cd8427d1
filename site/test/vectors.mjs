// The published vectors, as texts of policies and rows of decisions.
import { readFile } from "node:fs/promises";

const CODES = ["denied", "allowed", "never", "clock_range"];
const LIMITS = ["limit", "refill", "leak"];
const PERIODS = ["period_ns", "interval_ns", "window_ns"];

/** A policy of the vectors' JSON as text: the fields keep their names, but for the limit and the period. */
function text(policy) {
    if (policy.algorithm === "multi") return policy.layers.map(text).join(" & ");
    let [limit, period, options] = ["", "", ""];
    for (const [name, value] of Object.entries(policy)) {
        if (name === "algorithm") continue;
        if (LIMITS.includes(name)) limit = value;
        else if (PERIODS.includes(name)) period = `/${value}ns`;
        else if (name === "period") period = `/${value}`;
        else if (name.endsWith("_ns")) options += ` ${name.slice(0, -3)}=${value}ns`;
        else options += ` ${name}=${value}`;
    }
    return `${policy.algorithm} ${limit}${period}${options}`;
}

/** Numbers reach 2^64, so all of a row are texts first. */
function row(line) {
    const [now, key, cost, code, remaining, retry, reset, delay = "0"] = JSON.parse(line.replace(/([[,])(\d+)/g, '$1"$2"'));
    return { now, key, cost: Number(cost), outcome: CODES[code], remaining, retry: retry ?? "never", reset, delay };
}

/** `[{name, policy, epoch, rows}]` of a file of decisions. */
export async function sections(path) {
    const found = [];
    for (const line of (await readFile(path, "utf8")).split("\n").slice(1)) {
        if (line === "") continue;
        if (line.startsWith("[")) {
            found.at(-1).rows.push(row(line));
            continue;
        }
        const stated = JSON.parse(line.replace(/:(\d{16,})/g, ':"$1"'));
        const epoch = stated.epoch === undefined ? null : Date.parse(stated.epoch) / 1000;
        found.push({ name: stated.section, policy: text(stated.policy), epoch, rows: [] });
    }
    return found;
}

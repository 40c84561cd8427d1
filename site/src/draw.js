// A lane as a picture: time flows to the left, now stands still, and what is to come is right of it.

import { countUntil } from "./session.js";
import { duration, instant } from "./text.js";

/** Where now is, as a share of the width. */
const NOW = 0.72;
const TOP = 18;
const LEVEL = 56;
const DOTS = TOP + LEVEL + 14;
const AXIS = DOTS + 14;
export const HEIGHT = AXIS + 20;
/** More requests than that in the picture are drawn as bars. */
const MOST_DOTS = 400;
const RADIUS = 4;

export function colours(element) {
    const style = getComputedStyle(element);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
        allowed: of("allowed"), denied: of("denied"), delayed: of("delayed"),
        limit: of("limit"), ink: of("ink"), faint: of("faint"), paper: of("paper"),
    };
}

/**
 * Draws one lane. `view` is `{nowNs, spanNs, isPast}`; `lane` has the requests with its decisions from `first` on, its
 * course, states, capacity, `retryAtNs`, and `differs(place)` for a mark under the dot.
 */
export function draw(canvas, view, lane, palette) {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const [pixelsWide, pixelsHigh] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    if (canvas.width !== pixelsWide || canvas.height !== pixelsHigh) {
        canvas.width = pixelsWide;
        canvas.height = pixelsHigh;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    context.font = "13px system-ui, sans-serif";
    const x = (ns) => width * NOW + ((ns - view.nowNs) / view.spanNs) * width;
    const picture = { context, width, x, view, lane, palette };
    axis(picture);
    for (const state of lane.states) kept(picture, state);
    course(picture);
    limit(picture);
    retry(picture);
    requests(picture);
    now(picture);
}

function line(context, colour, points, dash = []) {
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    points.forEach(([left, top], place) => (place === 0 ? context.moveTo(left, top) : context.lineTo(left, top)));
    context.stroke();
    context.setLineDash([]);
}

/** The distance of marks on the axis: no more than ten in the picture. */
export function step(spanNs) {
    const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 86_400];
    return (steps.find((seconds) => seconds * 1e9 * 8 >= spanNs) ?? 86_400 * 7) * 1e9;
}

function axis({ context, width, x, view, palette }) {
    const distance = step(view.spanNs);
    context.lineWidth = 1;
    line(context, palette.faint, [[0, AXIS + 0.5], [width, AXIS + 0.5]]);
    context.fillStyle = palette.faint;
    context.textAlign = "center";
    context.textBaseline = "top";
    const from = view.nowNs - view.spanNs * NOW;
    for (let at = Math.max(0, Math.ceil(from / distance) * distance); x(at) < width; at += distance) {
        line(context, palette.faint, [[x(at), AXIS], [x(at), AXIS + 4]]);
        const text = instant(at, view.spanNs);
        const room = context.measureText(text).width / 2;
        if (x(at) > room && x(at) < width - room) context.fillText(text, x(at), AXIS + 5);
    }
}

const high = (share) => TOP + LEVEL * (1 - Math.min(1, share));

function course({ context, width, x, view, lane, palette }) {
    const { course: points } = lane;
    const from = view.nowNs - view.spanNs * NOW;
    let first = points.length;
    while (first > 0 && points[first - 1].atNs >= from) first -= 1;
    const shown = points.slice(Math.max(0, first - 1)).filter((point) => point.atNs <= view.nowNs);
    if (shown.length === 0) return;
    context.fillStyle = palette.allowed;
    context.globalAlpha = 0.16;
    context.beginPath();
    context.moveTo(x(shown[0].atNs), high(0));
    for (const { atNs, fill } of shown) context.lineTo(x(atNs), high(fill));
    context.lineTo(x(shown.at(-1).atNs), high(0));
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    line(context, palette.allowed, shown.map(({ atNs, fill }) => [Math.min(width, x(atNs)), high(fill)]));
}

function limit({ context, width, lane, palette }) {
    context.lineWidth = 1.5;
    line(context, palette.limit, [[0, TOP], [width, TOP]]);
    context.fillStyle = palette.limit;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText(`limit ${lane.capacity}`, width - 1, TOP - 2);
}

/** What is kept, where it is in time. */
function kept(picture, state) {
    switch (state.kind) {
        case "arrival_time": return arrivalTime(picture, state);
        case "window": return windowEdges(picture, state);
        case "two_windows": return twoWindows(picture, state);
        case "bucket": return refills(picture, state);
        case "log": return entries(picture, state);
        default:
    }
}

function label({ context, palette, width }, text, left, top, align = "left") {
    context.fillStyle = palette.faint;
    context.textBaseline = "middle";
    const wide = context.measureText(text).width;
    const start = align === "left" ? left : left - wide;
    context.textAlign = "left";
    context.fillText(text, Math.max(2, Math.min(start, width - wide - 2)), top);
}

/** A bar from now to the arrival time, up to where it may run. */
function arrivalTime(picture, { ahead_ns: aheadNs, room_ns: roomNs }) {
    const { context, x, view, palette } = picture;
    const [start, end, room] = [x(view.nowNs), x(view.nowNs + aheadNs), x(view.nowNs + roomNs)];
    const middle = TOP + 20;
    context.lineWidth = 1;
    line(context, palette.faint, [[start, middle], [room, middle]], [2, 3]);
    line(context, palette.limit, [[room, middle - 7], [room, middle + 7]]);
    context.fillStyle = palette.allowed;
    context.fillRect(start, middle - 3, end - start, 6);
    label(picture, "arrival time", start + 6, middle + 14);
}

function edge({ context, palette }, left) {
    context.lineWidth = 1;
    line(context, palette.faint, [[left, TOP], [left, AXIS]], [4, 3]);
}

/** The ends of aligned windows in the picture. */
function edges(picture, endNs, lengthNs) {
    const { x, width } = picture;
    if (x(lengthNs) - x(0) < 6) return;
    const first = endNs + lengthNs * Math.ceil((picture.view.nowNs - picture.view.spanNs * NOW - endNs) / lengthNs);
    for (let at = first; x(at) < width; at += lengthNs) edge(picture, x(at));
}

function windowEdges(picture, { length_ns: lengthNs, end_ns: endNs, is_aligned: isAligned }) {
    const { x } = picture;
    if (endNs === null) return;
    if (isAligned) edges(picture, endNs, lengthNs);
    else edge(picture, x(endNs));
    label(picture, "ends", x(endNs) + 4, TOP + 10);
    if (lengthNs > 0 && !isAligned) edge(picture, x(endNs - lengthNs));
}

/** Both counts over their spans; of the older one as much is filled as it weighs. */
function twoWindows(picture, state) {
    const { context, x, view, lane, palette } = picture;
    const { length_ns: lengthNs, start_ns: startNs, previous, current, is_weighted: isWeighted } = state;
    const over = isWeighted ? Math.min(1, Math.max(0, (view.nowNs - startNs) / lengthNs)) : 0;
    edges(picture, startNs, lengthNs);
    for (const [fromNs, units, weight, text] of [
        [startNs - lengthNs, previous, 1 - over, isWeighted ? `${previous} × ${(1 - over).toFixed(2)}` : `${previous}`],
        [startNs, current, 1, `${current}`],
    ]) {
        const [left, right] = [x(fromNs), x(fromNs + lengthNs)];
        if (units === 0) continue;
        const top = high(units / lane.capacity);
        context.fillStyle = palette.delayed;
        context.globalAlpha = 0.3;
        const weighted = high((units * weight) / lane.capacity);
        context.fillRect(left, weighted, right - left, high(0) - weighted);
        context.globalAlpha = 1;
        line(context, palette.delayed, [[left, high(0)], [left, top], [right, top], [right, high(0)]]);
        label(picture, text, Math.max(left, 0) + 4, Math.min(top + 9, high(0) - 8));
    }
}

function refills(picture, { refill_ns: refillNs, length_ns: lengthNs }) {
    if (refillNs === null) return;
    const { x, width } = picture;
    for (let at = refillNs; x(at) < width; at += lengthNs) edge(picture, x(at));
    label(picture, "refill", x(refillNs) + 4, TOP + 10);
}

/** A tick for each unit that counts, and the span in which it does. */
function entries(picture, { entries_ns: instants, length_ns: lengthNs }) {
    const { context, x, view, palette } = picture;
    const left = x(view.nowNs - lengthNs);
    context.fillStyle = palette.delayed;
    context.globalAlpha = 0.12;
    context.fillRect(left, TOP, x(view.nowNs) - left, LEVEL);
    context.globalAlpha = 1;
    context.lineWidth = 1;
    for (const at of instants) line(context, palette.delayed, [[x(at), high(0)], [x(at), high(0) - 10]]);
    edge(picture, left);
    label(picture, "leaves", left + 4, TOP + 10);
}

function requests(picture) {
    const { context, width, x, view, lane } = picture;
    const margin = (RADIUS * view.spanNs) / width;
    const first = countUntil(lane.requests, view.nowNs - view.spanNs * NOW - margin);
    const end = countUntil(lane.requests, view.nowNs + view.spanNs * (1 - NOW) + margin);
    if (end - first > MOST_DOTS) {
        bars(picture, first, end);
        return;
    }
    // Requests at one place of the axis stand above each other.
    const stacked = new Map();
    for (let place = first; place < end; place += 1) {
        const { client, shownNs, isRelease } = lane.requests[place];
        const left = x(shownNs);
        const column = Math.round(left / 3);
        const above = stacked.get(column) ?? 0;
        stacked.set(column, above + 1);
        const later = view.isPast && shownNs > view.nowNs;
        context.globalAlpha = later ? 0.25 : client === lane.watched ? 1 : 0.45;
        if (isRelease) {
            if (lane.decisions[place]?.outcome === "released") back(picture, left);
            continue;
        }
        dot(picture, left, DOTS - Math.min(above, 9) * 4, lane.decisions[place]);
        if (lane.differs(place)) {
            line(context, picture.palette.ink, [[left, DOTS + 6], [left, DOTS + 12]]);
        }
    }
    context.globalAlpha = 1;
}

/** A permit that came back: an arrow down to the axis. */
function back({ context, palette }, left) {
    context.fillStyle = palette.delayed;
    context.beginPath();
    context.moveTo(left - RADIUS, DOTS - RADIUS);
    context.lineTo(left + RADIUS, DOTS - RADIUS);
    context.lineTo(left, DOTS + RADIUS);
    context.fill();
}

/** Where the retry after of the last refusal ends: from there on the next try is allowed. */
function retry(picture) {
    const { context, x, width, view, lane, palette } = picture;
    const { retryAtNs } = lane;
    if (retryAtNs === null || retryAtNs <= view.nowNs) return;
    const left = Math.min(x(retryAtNs), width - 1);
    context.lineWidth = 1.5;
    line(context, palette.denied, [[left, DOTS - 8], [left, AXIS]], x(retryAtNs) > width ? [2, 2] : []);
    const text = `retry in ${duration(BigInt(Math.ceil(retryAtNs - view.nowNs)))}${x(retryAtNs) > width ? " →" : ""}`;
    label(picture, text, left - 4, DOTS - 2, "right");
}

/** Filled, half or hollow: allowed, delayed, denied. */
function dot({ context, palette }, left, top, decision) {
    const isAllowed = decision.outcome === "allowed";
    const isDelayed = isAllowed && decision.delayNs > 0n;
    const colour = isDelayed ? palette.delayed : isAllowed ? palette.allowed : palette.denied;
    context.lineWidth = 1.5;
    context.strokeStyle = colour;
    context.fillStyle = isAllowed ? colour : palette.paper;
    context.beginPath();
    context.arc(left, top, RADIUS, 0, 2 * Math.PI);
    if (isDelayed) {
        context.fillStyle = palette.paper;
        context.fill();
        context.stroke();
        context.fillStyle = colour;
        context.beginPath();
        context.arc(left, top, RADIUS, Math.PI / 2, 1.5 * Math.PI);
        context.fill();
        return;
    }
    context.fill();
    context.stroke();
}

const BAR = 3;
const BARS = 26;

/** Counts for each few pixels: the denied, hatched by gaps, above the allowed. */
function bars({ context, width, x, view, lane, palette }, first, end) {
    const columns = Math.ceil(width / BAR) + 1;
    const [allowed, denied] = [new Uint32Array(columns), new Uint32Array(columns)];
    let most = 1;
    for (let place = first; place < end; place += 1) {
        if (lane.requests[place].isRelease) continue;
        const column = Math.floor(x(lane.requests[place].shownNs) / BAR);
        if (column < 0 || column >= columns) continue;
        const of = lane.decisions[place].outcome === "allowed" ? allowed : denied;
        of[column] += 1;
        most = Math.max(most, allowed[column] + denied[column]);
    }
    for (let column = 0; column < columns; column += 1) {
        if (allowed[column] + denied[column] === 0) continue;
        const left = column * BAR;
        context.globalAlpha = view.isPast && left > width * NOW ? 0.25 : 1;
        const split = AXIS - (BARS * allowed[column]) / most;
        context.fillStyle = palette.allowed;
        context.fillRect(left, split, BAR - 1, AXIS - split);
        context.fillStyle = palette.denied;
        const top = split - (BARS * denied[column]) / most;
        for (let at = split - 2; at > top; at -= 3) context.fillRect(left, Math.max(top, at - 1), BAR - 1, 2);
    }
    context.globalAlpha = 1;
}

function now({ context, x, view, palette }) {
    context.lineWidth = 1.5;
    line(context, palette.ink, [[x(view.nowNs), TOP - 4], [x(view.nowNs), AXIS]]);
    context.fillStyle = palette.ink;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(view.isPast ? "then" : "now", x(view.nowNs), TOP - 4);
}

// The requests so far, what each lane decided on them, and what it was at any instant before.
//
// Instants are whole nanoseconds since the epoch, a Monday 00:00 UTC, as numbers: a session is shorter than the 104 days
// that a number holds exactly.

/** What is kept of requests at most: after that the first half is forgotten, and cannot be looked back at. */
const MOST_REQUESTS = 400_000;
const MOST_COURSE = 20_000;
/** Points of a course in one step of time at most: more would be in one pixel. */
const MOST_IN_STEP = 6;
/** Requests among which the last one of the client is looked for. */
const MOST_LOOKED_AT = 1000;

export class Session {
    #core;
    /** How many requests the deck of the past has decided, and up to when it may be asked. */
    #past = 0;

    constructor(core, policies) {
        this.#core = core;
        this.restart(policies);
    }

    /** Forgets everything. */
    restart(policies) {
        this.policies = policies;
        this.requests = [];
        this.nowNs = 0;
        this.watched = 0;
        /** The distance of the points of a course, where no request comes. */
        this.stepNs ??= 5e7;
        this.#begin();
    }

    #begin() {
        this.lookedNs = 0;
        this.inStep = 0;
        this.decisions = this.policies.map(() => []);
        this.courses = this.policies.map(() => []);
        this.totals = this.policies.map(() => ({ allowed: 0, denied: 0, unlikeFirst: 0, clients: new Set() }));
        this.#core.start(0, this.policies);
        this.#core.start(1, this.policies);
        this.#past = 0;
    }

    /** Other policies decide the same requests again, from the first one. */
    change(policies) {
        const { requests, nowNs } = this;
        this.policies = policies;
        this.requests = [];
        this.#begin();
        this.nowNs = 0;
        for (const { isRelease, atNs, client, cost } of requests) {
            if (isRelease) this.release(atNs, client);
            else this.request(atNs, client, cost);
        }
        this.advance(nowNs);
    }

    /** Time goes on. */
    advance(nowNs) {
        this.nowNs = Math.max(this.nowNs, nowNs);
        this.#lookTo(this.nowNs);
    }

    /** The course up to `atNs`, also where it falls in between. */
    #lookTo(atNs) {
        const steps = Math.floor((atNs - this.lookedNs) / this.stepNs);
        const first = Math.max(1, steps - MOST_COURSE / 4);
        const fromNs = this.lookedNs;
        for (let step = first; step <= steps; step += 1) this.#look(fromNs + step * this.stepNs);
        this.#look(atNs);
    }

    #look(atNs) {
        const isLast = Math.floor(atNs / this.stepNs) === Math.floor(this.lookedNs / this.stepNs);
        this.inStep = isLast ? this.inStep + 1 : 0;
        this.lookedNs = atNs;
        const rows = this.#core.peek(0, this.watched, BigInt(Math.round(atNs)));
        rows.forEach((row, lane) => {
            const course = this.courses[lane];
            if (this.inStep > MOST_IN_STEP) course.pop();
            course.push({ atNs, fill: row.fill });
            if (course.length > MOST_COURSE) course.splice(0, MOST_COURSE / 2);
        });
    }

    /** A request: each lane's decision. Its clock may step back. */
    request(atNs, client, cost = 1) {
        if (client === this.watched) this.#lookTo(Math.max(atNs, this.nowNs));
        const rows = this.#core.decide(0, client, BigInt(atNs), cost);
        // A clock that steps back: the request stands where the latest one does.
        this.requests.push({ atNs, shownNs: Math.max(atNs, this.nowNs), client, cost });
        rows.forEach((row, lane) => {
            this.decisions[lane].push(row);
            const totals = this.totals[lane];
            if (row.outcome === "allowed") {
                totals.allowed += 1;
            } else {
                totals.denied += 1;
                totals.clients.add(client);
            }
            if (row.outcome !== rows[0].outcome) totals.unlikeFirst += 1;
        });
        this.nowNs = Math.max(this.nowNs, atNs);
        if (client === this.watched) this.#look(this.nowNs);
        if (this.requests.length > MOST_REQUESTS) this.#forget();
        return rows;
    }

    /** The client releases a permit in each lane that counts requests in flight: how many units came back in each. */
    release(atNs, client) {
        const instant = Math.max(atNs, this.nowNs);
        if (client === this.watched) this.#lookTo(instant);
        const units = this.#core.release(0, client, BigInt(atNs));
        const rows = this.#core.peek(0, client, BigInt(atNs));
        this.requests.push({ atNs, shownNs: instant, client, cost: 0, isRelease: true });
        units.forEach((released, lane) => {
            const decisions = this.decisions[lane];
            // Where nothing came back, what was decided last still is.
            decisions.push(released > 0 ? { ...rows[lane], outcome: "released", released } : decisions.at(-1) ?? null);
        });
        this.nowNs = instant;
        if (client === this.watched) this.#look(this.nowNs);
        return units;
    }

    #forget() {
        const gone = MOST_REQUESTS / 2;
        this.#replayTo(gone);
        this.requests.splice(0, gone);
        for (const decisions of this.decisions) decisions.splice(0, gone);
        this.#past -= gone;
    }

    /** How many requests came before `atNs` or at it. */
    countAt(atNs) {
        return countUntil(this.requests, atNs);
    }

    #replayTo(count) {
        if (count < this.#past) {
            this.#core.start(1, this.policies);
            this.#past = 0;
        }
        for (; this.#past < count; this.#past += 1) {
            const { atNs, client, cost, isRelease } = this.requests[this.#past];
            if (isRelease) this.#core.release(1, client, BigInt(atNs));
            else this.#core.decide(1, client, BigInt(atNs), cost);
        }
    }

    /** What each lane was at an instant: `null` is now. `last` is its last decision until then. */
    at(atNs, style) {
        const isPast = atNs !== null;
        const deck = isPast ? 1 : 0;
        const instant = BigInt(isPast ? atNs : this.nowNs);
        const count = isPast ? this.countAt(atNs) : this.requests.length;
        if (isPast) this.#replayTo(count);
        const peeks = this.#core.peek(deck, this.watched, instant);
        const states = this.#core.states(deck, this.watched, instant);
        const fields = this.#core.fields(deck, style, instant + EPOCH_UNIX_NS);
        return this.policies.map((_, lane) => ({
            peek: peeks[lane],
            states: states[lane],
            fields: fields[lane],
            last: count > 0 ? this.decisions[lane][count - 1] : null,
            request: count > 0 ? this.requests[count - 1] : null,
            retryAtNs: this.#retryAt(lane, count),
        }));
    }

    /** When the next try of the watched client is allowed, if its last one of so many requests was denied. */
    #retryAt(lane, count) {
        for (let place = count - 1; place >= Math.max(0, count - MOST_LOOKED_AT); place -= 1) {
            const { client, atNs, isRelease } = this.requests[place];
            // A permit that comes back may be the one that was missing.
            if (client !== this.watched || (isRelease && this.decisions[lane][place]?.outcome !== "released")) continue;
            const { outcome, retryNs } = this.decisions[lane][place];
            return outcome === "denied" && retryNs !== null ? atNs + Number(retryNs) : null;
        }
        return null;
    }
}

/** How many of these, which are in the order of time, were shown at `atNs` or before. */
export function countUntil(requests, atNs) {
    let low = 0;
    let high = requests.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (requests[middle].shownNs <= atNs) low = middle + 1;
        else high = middle;
    }
    return low;
}

/** 2026-01-05T00:00:00Z, the epoch of a policy that no limiter has given its own. */
export const EPOCH_UNIX_NS = 1_767_571_200_000_000_000n;

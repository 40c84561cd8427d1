// The requests of a shape: when each comes, and whose it is.

const SECOND = 1e9;

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
}

/** Makes requests one after the other. `settings` is read at each: `{shape, rate, burst, clients}`. */
export class Traffic {
    #random;
    #nextNs = null;
    #inBurst = 0;
    #place = 0;
    #turn = 0;

    constructor(settings, seed = 1) {
        this.settings = settings;
        this.#random = random(seed);
    }

    /** The requests after `fromNs` and up to `toNs`, in order: `[atNs, client]`. */
    *between(fromNs, toNs) {
        const { shape, rate } = this.settings;
        if (shape === "none") return;
        if (shape === "log") {
            yield* this.#ofLog(toNs);
            return;
        }
        if (!(rate > 0)) return;
        if (this.#nextNs === null) this.#nextNs = fromNs;
        while (this.#nextNs <= toNs) {
            yield [Math.max(Math.round(this.#nextNs), fromNs), this.#client()];
            this.#nextNs += this.#gap();
        }
    }

    *#ofLog(toNs) {
        const { log } = this.settings;
        if (!log) return;
        while (this.#place < log.times.length && log.times[this.#place] <= toNs) {
            yield [log.times[this.#place], log.clients[this.#place]];
            this.#place += 1;
        }
    }

    #client() {
        this.#turn += 1;
        const { shape, clients } = this.settings;
        if (clients <= 1) return 0;
        return shape === "poisson" ? Math.floor(this.#random() * clients) : this.#turn % clients;
    }

    #gap() {
        const { shape, rate, burst } = this.settings;
        const mean = SECOND / rate;
        if (shape === "poisson") return -Math.log(1 - this.#random()) * mean;
        if (shape !== "bursts") return mean;
        this.#inBurst += 1;
        if (this.#inBurst < burst) return 0;
        this.#inBurst = 0;
        return mean * burst;
    }

    /** Whether a log has no request left. */
    get isOver() {
        const { shape, log } = this.settings;
        return shape === "log" && (!log || this.#place >= log.times.length);
    }
}

/** A list of requests by hand: a line each, `seconds [client] [cost]`; instants with up to nine decimals. */
export function parseList(text) {
    const requests = [];
    text.split("\n").forEach((line, index) => {
        const words = line.trim().split(/\s+/);
        if (words[0] === "" || words[0].startsWith("#")) return;
        const [, whole, part = ""] = /^(\d+)(?:\.(\d{1,9}))?$/.exec(words[0]) ?? [];
        const numbers = words.slice(1).map(Number);
        const isRight = whole !== undefined && words.length <= 3 &&
            numbers.every((number) => Number.isInteger(number) && number >= 0 && number <= 0xffffffff);
        const atNs = isRight ? Number(BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, "0"))) : NaN;
        if (!isRight || !Number.isSafeInteger(atNs)) {
            throw new Error(`line ${index + 1}: expected seconds below 9 million, and perhaps a client's number and a cost, such as 1.5 0 1`);
        }
        requests.push({ atNs, client: numbers[0] ?? 0, cost: numbers[1] ?? 1 });
    });
    return requests;
}

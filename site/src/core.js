// The WebAssembly module of crates/ratecell-playground: `page.rs` there is the other side.
//
// Instants are BigInt in nanoseconds since the epoch, because they reach 2^64.

const OUTCOMES = ["allowed", "denied", "never", "clock_range", "asked"];
const ROW_BYTES = 64;
const NEVER = 0xffffffffffffffffn;

export async function load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Core(instance.exports);
}

/** One instance. `deck` is 0 for the requests as they come, 1 for the same up to an instant that is looked back at. */
export class Core {
    #exports;
    #encoder = new TextEncoder();
    #decoder = new TextDecoder();

    constructor(exports) {
        this.#exports = exports;
    }

    #give(bytes) {
        const at = this.#exports.input(bytes.length);
        new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    }

    #taken() {
        return new Uint8Array(this.#exports.memory.buffer, this.#exports.output(), this.#exports.output_len());
    }

    #json() {
        return JSON.parse(this.#decoder.decode(this.#taken()));
    }

    #rows() {
        const bytes = this.#taken();
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const rows = [];
        for (let at = 0; at < bytes.byteLength; at += ROW_BYTES) {
            const number = (place) => view.getBigUint64(at + 8 * place, true);
            const retry = number(3);
            rows.push({
                outcome: OUTCOMES[Number(number(0))],
                limit: number(1),
                remaining: number(2),
                retryNs: retry === NEVER ? null : retry,
                resetNs: number(4),
                delayNs: number(5),
                layer: Number(number(6)),
                fill: view.getFloat64(at + 56, true),
            });
        }
        return rows;
    }

    /** `{canonical, capacity, period_ns}`, or `{column, message}` of a text that is no policy. */
    policy(text) {
        this.#give(this.#encoder.encode(text));
        this.#exports.policy();
        return this.#json();
    }

    /** Makes these policies the lanes of a deck. `epoch` is in seconds since 1970, for windows of a calendar. */
    start(deck, policies, epoch = null) {
        this.#give(this.#encoder.encode(policies.join("\n")));
        const made = this.#exports.start(deck, epoch === null ? 0 : 1, BigInt(epoch ?? 0));
        if (!made) throw new Error(this.#json().message);
    }

    decide(deck, client, nowNs, cost) {
        this.#exports.decide(deck, client, nowNs, cost);
        return this.#rows();
    }

    /** How many units came back in each lane, of the oldest permit that the client has out. */
    release(deck, client, nowNs) {
        this.#exports.release(deck, client, nowNs);
        return this.#json();
    }

    peek(deck, client, nowNs) {
        this.#exports.peek(deck, client, nowNs);
        return this.#rows();
    }

    states(deck, client, nowNs) {
        this.#exports.states(deck, client, nowNs);
        return this.#json();
    }

    /** The HTTP fields of each lane's last decision, as text. */
    fields(deck, style, nowUnixNs) {
        this.#give(this.#encoder.encode(style));
        this.#exports.fields(deck, nowUnixNs);
        return this.#json();
    }

    /** `{format, clients, others, is_cut, times, numbers}`: `times` in nanoseconds since 1970. */
    readLog(bytes) {
        this.#give(bytes);
        const count = this.#exports.log_requests();
        if (count === 0) throw new Error(this.#json());
        const taken = this.#taken();
        const pairs = new BigUint64Array(taken.slice().buffer);
        const times = new BigUint64Array(count);
        const numbers = new Uint32Array(count);
        for (let place = 0; place < count; place += 1) {
            times[place] = pairs[2 * place];
            numbers[place] = Number(pairs[2 * place + 1]);
        }
        this.#exports.log_facts();
        return { ...this.#json(), times, numbers };
    }
}

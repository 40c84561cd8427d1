// The page: its controls, its clock, and its lanes.

import packed from "../build/core.wasm.gz";
import { bind } from "./controls.js";
import { load } from "./core.js";
import { DEFAULTS, FIRST } from "./defaults.js";
import { colours } from "./draw.js";
import { LaneView } from "./lane.js";
import { fromFragment, toFragment } from "./link.js";
import { EPOCH_UNIX_NS, Session } from "./session.js";
import { count } from "./text.js";
import { parseList, Traffic } from "./traffic.js";

/** Between two texts, in milliseconds: the eye reads no faster. */
const TELL_MS = 150;
const AHEAD_NS = 20e9;

const get = (id) => document.getElementById(id);

class Page {
    constructor(core) {
        this.core = core;
        const { policies, settings } = fromFragment(location.hash, FIRST, DEFAULTS);
        this.settings = settings;
        this.log = null;
        this.isRunning = true;
        /** The instant that is looked back at; `null` is now. */
        this.pastNs = null;
        const readable = policies.filter((text) => this.explain(text).message === undefined);
        const refused = policies.filter((text) => !readable.includes(text));
        this.views = [];
        this.session = new Session(core, readable);
        bind(this);
        this.show(readable.length > 0 ? readable : FIRST);
        this.apply();
        if (refused.length > 0) this.say(`The link has ${refused[0]}, which is no policy: ${this.explain(refused[0]).message}.`);
    }

    explain(text) {
        return this.core.policy(text);
    }

    say(text) {
        get("said").textContent = text;
    }

    get policies() {
        return this.views.map((view) => view.policy);
    }

    /** Lanes of these policies, which have seen what there was of requests. */
    show(policies) {
        this.views = policies.map((policy) => this.#view(policy));
        get("lanes").replaceChildren(...this.views.map((view) => view.element));
        this.#changed();
    }

    #view(policy) {
        const view = new LaneView(policy, {
            explain: (text) => this.explain(text),
            changed: () => this.#changed(),
            removed: () => {
                this.views = this.views.filter((other) => other !== view);
                view.element.remove();
                this.#changed();
                get("add").focus();
            },
        });
        return view;
    }

    add(policy) {
        const view = this.#view(policy);
        this.views.push(view);
        get("lanes").append(view.element);
        this.#changed();
        view.input.focus();
    }

    #changed() {
        get("release").hidden = !this.views.some((view) => view.explained.is_in_flight);
        this.session.change(this.policies);
        this.link();
        this.tell();
    }

    /** Settings that were changed: the traffic goes on from now by them. */
    apply() {
        const { settings } = this;
        for (const name of ["rate", "burst", "clients", "cost", "span", "speed", "style", "shape", "list"]) {
            const control = get(name);
            const value = name === "rate" ? String(Math.log10(settings.rate)) : String(settings[name]);
            if (control.value !== value) control.value = value;
        }
        get("watched").max = settings.clients;
        settings.watched = Math.min(settings.watched, Math.max(0, settings.clients - 1));
        get("watched").value = settings.watched + 1;
        get("rate-text").textContent = `${count(settings.rate)} a second`;
        get("burst-text").textContent = `${settings.burst} at once`;
        get("clients-text").textContent = settings.clients === 1 ? "1 client" : `${settings.clients} clients`;
        const { shape } = settings;
        get("of-rate").hidden = !["steady", "bursts", "poisson"].includes(shape);
        get("of-burst").hidden = shape !== "bursts";
        get("of-clients").hidden = !["steady", "bursts", "poisson"].includes(shape);
        get("of-list").hidden = shape !== "list";
        get("of-log").hidden = shape !== "log";
        get("compare").checked = settings.compare > 0;
        this.session.watched = settings.watched;
        this.session.stepNs = settings.span * 2.5e6;
        this.#plan();
        this.link();
        this.tell();
    }

    #plan() {
        const { settings } = this;
        const { log } = this;
        const { shape } = settings;
        if (shape === "list") {
            const wrong = get("list-error");
            wrong.textContent = "";
            try {
                this.listed = parseList(settings.list);
            } catch (error) {
                this.listed = [];
                wrong.textContent = error.message;
            }
            get("list").setAttribute("aria-invalid", String(wrong.textContent !== ""));
            this.place = this.session.requests.length === 0 ? 0 : this.listed.length;
        }
        this.traffic = new Traffic({ ...settings, shape, log }, 1 + this.session.requests.length);
    }

    /** From the beginning, with the same settings. */
    restart() {
        const { log } = this;
        this.session.restart(this.policies);
        this.session.watched = this.settings.watched;
        if (this.settings.shape === "log" && log) this.session.nowNs = log.times[0];
        this.pastNs = null;
        this.#plan();
        this.tell();
    }

    /** The requests of the traffic after now and up to `toNs`, in order. */
    *#coming(toNs) {
        if (this.settings.shape === "list") {
            while (this.place < this.listed.length && Math.max(this.listed[this.place].atNs, this.session.nowNs) <= toNs) {
                const { atNs, client, cost } = this.listed[this.place];
                this.place += 1;
                yield [atNs, client, cost];
            }
            return;
        }
        for (const [atNs, client] of this.traffic.between(this.session.nowNs, toNs)) yield [atNs, client, this.settings.cost];
    }

    /** One request now, by hand. */
    request() {
        this.resume();
        const rows = this.session.request(this.session.nowNs, this.settings.watched, this.settings.cost);
        this.tell();
        const allowed = rows.filter((row) => row.outcome === "allowed").length;
        this.announce(`Request ${this.session.requests.length}: allowed by ${allowed} of ${rows.length} lanes.`);
    }

    /** The client that is shown releases its oldest permit, in each lane. */
    release() {
        this.resume();
        const units = this.session.release(this.session.nowNs, this.settings.watched);
        this.tell();
        const lanes = units.filter((released) => released > 0).length;
        this.announce(lanes === 0 ? "No permit is out." : `A permit came back in ${lanes} of ${units.length} lanes.`);
    }

    announce(text) {
        get("live").textContent = text;
    }

    resume() {
        if (this.pastNs !== null) {
            this.pastNs = null;
            get("scrub").value = get("scrub").max;
        }
    }

    run(isRunning) {
        this.isRunning = isRunning;
        if (isRunning) this.resume();
        get("run").textContent = isRunning ? "Pause" : "Run";
        this.tell();
    }

    /** To the next request, or to the one before. */
    step(direction) {
        this.run(false);
        const { requests } = this.session;
        const at = this.pastNs ?? this.session.nowNs;
        if (direction < 0) {
            const place = requests.findLastIndex((request) => request.shownNs < at);
            this.pastNs = place < 0 ? 0 : requests[place].shownNs;
        } else if (this.pastNs !== null) {
            const next = requests.find((request) => request.shownNs > at);
            this.pastNs = next ? next.shownNs : null;
        } else {
            this.#next();
        }
        this.tell();
        const last = this.session.at(this.pastNs, this.settings.style);
        const parts = this.views.map((view, lane) => `${view.policy} ${last[lane].last?.outcome ?? "has none"}`);
        this.announce(parts.join("; "));
    }

    #next() {
        const end = this.settings.shape === "list" || this.settings.shape === "log" ? Number.MAX_SAFE_INTEGER : this.session.nowNs + 3600e9;
        for (const [atNs, client, cost] of this.#coming(end)) {
            this.session.request(atNs, client, cost);
            return;
        }
    }

    /** All of a log or list that is left, at once. */
    finish() {
        const isEndless = !["list", "log"].includes(this.settings.shape);
        const end = isEndless ? this.session.nowNs + AHEAD_NS : Number.MAX_SAFE_INTEGER;
        for (const [atNs, client, cost] of this.#coming(end)) this.session.request(atNs, client, cost);
        if (isEndless) this.session.advance(end);
        this.run(false);
    }

    frame(passedMs) {
        if (this.isRunning) {
            const toNs = this.session.nowNs + Math.round(Math.min(passedMs, 100) * 1e6 * this.settings.speed);
            for (const [atNs, client, cost] of this.#coming(toNs)) this.session.request(atNs, client, cost);
            this.session.advance(toNs);
        }
        this.draw();
    }

    draw() {
        const { session, settings } = this;
        const nowNs = this.pastNs ?? session.nowNs;
        const view = { nowNs, spanNs: settings.span * 1e9, isPast: this.pastNs !== null };
        const states = this.states ?? [];
        if (this.pastNs === null) this.states = this.core.states(0, settings.watched, BigInt(nowNs));
        const palette = colours(document.body);
        this.views.forEach((lane, place) => {
            lane.draw(view, {
                requests: session.requests,
                decisions: session.decisions[place],
                course: session.courses[place],
                states: (this.pastNs === null ? this.states : states)[place] ?? [],
                retryAtNs: this.retries?.[place] ?? null,
                watched: settings.watched,
                differs: (request) => settings.compare > 0 && place > 0 && !session.requests[request].isRelease && session.decisions[0][request].outcome !== session.decisions[place][request].outcome,
            }, palette);
        });
    }

    tell() {
        if (this.views.length === 0) return;
        const { session } = this;
        const now = session.at(this.pastNs, this.settings.style);
        this.states = now.map((lane) => lane.states);
        this.retries = now.map((lane) => lane.retryAtNs);
        this.views.forEach((view, lane) => {
            const isCompared = this.settings.compare > 0 && lane > 0;
            view.tell(now[lane], session.totals[lane], this.pastNs ?? session.nowNs, isCompared);
        });
        const scrub = get("scrub");
        scrub.step = Math.max(1, this.settings.span * 2.5e7);
        scrub.max = Math.max(1, session.nowNs);
        if (this.pastNs === null) scrub.value = scrub.max;
        else scrub.value = this.pastNs;
        const seconds = ((this.pastNs ?? session.nowNs) / 1e9).toFixed(1);
        scrub.setAttribute("aria-valuetext", `${seconds} s`);
        get("time").textContent = `${count(session.requests.length)} requests · ${this.pastNs === null ? "now" : "then"} ${seconds} s`;
    }

    link() {
        const fragment = toFragment(this.policies, this.settings, DEFAULTS);
        if (fragment !== location.hash) history.replaceState(null, "", fragment);
    }

    set(settings) {
        Object.assign(this.settings, settings);
        this.apply();
    }

    async read(file) {
        try {
            const read = this.core.readLog(new Uint8Array(await file.arrayBuffer()));
            const times = Array.from(read.times);
            // Windows are aligned to the epoch: a Monday before the first request.
            const week = 7n * 86_400_000_000_000n;
            const monday = times[0] - ((((times[0] - EPOCH_UNIX_NS) % week) + week) % week);
            this.log = { times: times.map((time) => Number(time - monday)), clients: read.numbers };
            const spanNs = this.log.times.at(-1) - this.log.times[0];
            const spans = Array.from(get("span").options, (option) => Number(option.value));
            const span = spans.find((seconds) => seconds * 1e9 >= spanNs) ?? spans.at(-1);
            this.set({ shape: "log", clients: Math.min(1000, read.clients.length), watched: 0, span });
            this.restart();
            this.finish();
            this.say(`${file.name}: ${count(read.times.length)} requests of ${count(read.clients.length)} clients, read as ${read.format}` +
                `${read.others > 0 ? `, ${count(read.others)} other lines` : ""}${read.is_cut ? "; the rest of the log is left out" : ""}. Client 1 is ${read.clients[0]}.`);
        } catch (error) {
            this.say(`${file.name}: ${error.message}.`);
        }
    }

    teach({ policies, traffic, says }) {
        this.settings = { ...DEFAULTS, style: this.settings.style, ...traffic };
        this.session.restart(policies);
        this.show(policies);
        this.apply();
        this.restart();
        this.run(true);
        this.say(says);
    }
}

async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

// On a phone the lanes come first.
get("settings").open = !matchMedia("(max-width: 52rem)").matches;
const page = new Page(await load(await unpacked(packed)));
globalThis.playground = page;
document.body.dataset.ready = String(Math.round(performance.now()));
let before = performance.now();
let told = 0;
const frame = (at) => {
    page.frame(at - before);
    before = at;
    if (page.isRunning && at - told > TELL_MS) {
        told = at;
        page.tell();
    }
    requestAnimationFrame(frame);
};
requestAnimationFrame(frame);

// The controls: what each of them does.

import { DEFAULTS, PRESETS } from "./defaults.js";
import { make } from "./lane.js";
import { LESSONS } from "./lessons.js";
import { fromFragment } from "./link.js";

/** How long a button is held until its requests are a stream, and their distance. */
const HOLD_MS = 350;
const STREAM_MS = 100;

const get = (id) => document.getElementById(id);

/** Lets the controls of the document act on a page. */
export function bind(page) {
    const number = (id, take = (value) => value) => get(id).addEventListener("input", (event) => {
        const value = Number(event.target.value);
        if (Number.isFinite(value) && event.target.checkValidity()) page.set({ [id]: take(value) });
    });
    number("rate", (exponent) => Number((10 ** exponent).toPrecision(2)));
    number("burst");
    number("clients");
    number("cost");
    number("span");
    number("speed");
    number("watched", (shown) => shown - 1);
    get("compare").addEventListener("input", (event) => page.set({ compare: event.target.checked ? 1 : 0 }));
    get("style").addEventListener("input", (event) => page.set({ style: event.target.value }));
    get("shape").addEventListener("input", (event) => {
        page.set({ shape: event.target.value });
        if (["list", "log"].includes(event.target.value)) page.restart();
    });
    get("list").addEventListener("input", (event) => {
        page.set({ list: event.target.value });
        page.restart();
    });
    get("run").addEventListener("click", () => page.run(!page.isRunning));
    get("next").addEventListener("click", () => page.step(1));
    get("back").addEventListener("click", () => page.step(-1));
    get("finish").addEventListener("click", () => page.finish());
    get("restart").addEventListener("click", () => page.restart());
    get("scrub").addEventListener("input", (event) => {
        const atNs = Math.round(Number(event.target.value));
        page.run(false);
        // The last step of the slider may end before now.
        page.pastNs = atNs + Number(event.target.step) > page.session.nowNs ? null : atNs;
        page.tell();
    });
    get("add").append(...PRESETS.map(([name, policy]) => make("option", { value: policy }, name)));
    get("add").addEventListener("change", (event) => {
        if (event.target.value !== "") page.add(event.target.value);
        event.target.value = "";
    });
    get("lesson").append(...LESSONS.map((lesson, place) => make("option", { value: place }, lesson.name)));
    get("lesson").addEventListener("change", (event) => {
        const lesson = LESSONS[event.target.value];
        if (lesson) page.teach(lesson);
    });
    get("file").addEventListener("change", (event) => {
        const [file] = event.target.files;
        if (file) void page.read(file);
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
        event.preventDefault();
        const [file] = event.dataTransfer.files;
        if (file) void page.read(file);
    });
    addEventListener("hashchange", () => {
        const { policies, settings } = fromFragment(location.hash, page.policies, DEFAULTS);
        if (policies.some((text) => page.explain(text).message !== undefined)) return;
        page.settings = settings;
        page.session.restart(policies);
        page.show(policies);
        page.apply();
        page.restart();
    });
    get("release").addEventListener("click", () => page.release());
    bindRequest(page, get("one"));
}

function bindRequest(page, button) {
    let timer = null;
    const stop = () => {
        clearTimeout(timer);
        timer = null;
    };
    const stream = () => {
        page.request();
        timer = setTimeout(stream, STREAM_MS);
    };
    button.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        page.request();
        timer = setTimeout(stream, HOLD_MS);
    });
    for (const name of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(name, stop);
    // Of a keyboard, which repeats a key that is held, and of a screen reader: a pointer has asked already.
    button.addEventListener("click", (event) => {
        if (event.detail === 0) page.request();
    });
}

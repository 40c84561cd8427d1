// One lane of the page: its policy, what the caller sees, the picture, and what is kept.

import { draw, HEIGHT } from "./draw.js";
import { count, duration, share, state } from "./text.js";

/** An element with attributes, and children that are elements or text. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
}

const OUTCOMES = {
    allowed: "allowed",
    denied: "denied",
    never: "never allowed",
    clock_range: "out of the clock's range",
    released: "a permit came back",
};

/** `changed(text)` is told of a policy that was read, `removed()` of the button. `explain(text)` reads one. */
export class LaneView {
    constructor(policy, { explain, changed, removed }) {
        this.policy = policy;
        this.explained = explain(policy);
        const id = `error-${crypto.randomUUID()}`;
        this.error = make("pre", { class: "error", id, role: "alert", hidden: true });
        this.input = make("input", {
            class: "policy", value: policy, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
            "aria-label": "Policy of this lane", "aria-describedby": id,
            oninput: () => this.#read(explain, changed),
        });
        this.says = make("p", { class: "says" });
        this.fields = make("pre", { class: "fields", "aria-label": "HTTP fields of the last decision" });
        this.canvas = make("canvas", { role: "img", style: `height:${HEIGHT}px` });
        this.kept = make("p", { class: "kept" });
        this.totals = make("p", { class: "totals" });
        const remove = make("button", { type: "button", class: "quiet", onclick: removed }, "Remove");
        this.element = make(
            "section", { class: "lane", "aria-label": policy },
            make("div", { class: "head" }, this.input, remove),
            this.error, this.says, this.fields, this.canvas,
            make("div", { class: "foot" }, this.kept, this.totals),
        );
    }

    #read(explain, changed) {
        const text = this.input.value;
        const read = explain(text);
        const isWrong = read.message !== undefined;
        this.error.hidden = !isWrong;
        this.input.setAttribute("aria-invalid", String(isWrong));
        if (isWrong) {
            this.error.textContent = pointed(text, read);
            return;
        }
        this.error.textContent = "";
        this.policy = text;
        this.explained = read;
        this.element.setAttribute("aria-label", text);
        changed();
    }

    /** What the caller sees, and the totals: text, a few times a second. */
    tell(at, totals, nowNs, isCompared) {
        const decision = at.last ?? at.peek;
        const data = (name, value, text) => make("data", { class: name, value: String(value) }, text);
        const verdict = at.last ? OUTCOMES[decision.outcome] : "no request yet";
        const waits = decision.retryNs === null ? "never" : duration(decision.retryNs);
        const row = [
            make("b", { class: at.last ? `outcome ${decision.outcome}` : "outcome" }, verdict),
            data("remaining", decision.remaining, `${count(decision.remaining)} remaining`),
        ];
        if (at.last && !["allowed", "released"].includes(decision.outcome)) {
            row.push(data("retry", decision.retryNs ?? "never", `retry after ${waits}`));
        }
        if (decision.delayNs > 0n) row.push(data("delay", decision.delayNs, `delayed by ${duration(decision.delayNs)}`));
        row.push(data("reset", decision.resetNs, `reset after ${duration(decision.resetNs)}`));
        this.says.replaceChildren(...row);
        if (this.fields.textContent !== at.fields) this.fields.textContent = at.fields;
        const kept = state(at.states, nowNs);
        if (this.kept.textContent !== kept) this.kept.textContent = kept;
        const all = totals.allowed + totals.denied;
        const differ = isCompared ? ` · ${count(totals.unlikeFirst)} unlike the first lane` : "";
        const text = `${count(totals.allowed)} allowed · ${count(totals.denied)} denied (${share(totals.denied, all)})` +
            (totals.clients.size > 1 ? `, ${count(totals.clients.size)} clients` : "") + differ;
        if (this.totals.textContent !== text) this.totals.textContent = text;
        const wait = at.retryAtNs === null ? 0 : Math.ceil(at.retryAtNs - nowNs);
        const retry = wait > 0 ? ` The next try is allowed in ${duration(BigInt(wait))}.` : "";
        const sentence = `${this.policy}: ${text}. ${kept}${retry}`;
        if (this.canvas.getAttribute("aria-label") !== sentence) this.canvas.setAttribute("aria-label", sentence);
    }

    draw(view, lane, palette) {
        draw(this.canvas, view, { ...lane, capacity: this.explained.capacity }, palette);
    }
}

/** The sentence of an error, below a mark at its place in the text. */
function pointed(text, { column, message }) {
    if (column === null) return message;
    const before = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, column - 1));
    return `${" ".repeat(before.length)}↑\n${message}`;
}

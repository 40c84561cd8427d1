// The state of the page as the fragment of its address, and back.

const NUMBERS = ["rate", "burst", "clients", "cost", "watched", "span", "speed", "compare"];
const TEXTS = ["shape", "list", "style"];

/** `settings` and policies as a fragment, without what is as at the start. */
export function toFragment(policies, settings, defaults) {
    const parameters = new URLSearchParams();
    for (const policy of policies) parameters.append("p", policy);
    for (const name of [...NUMBERS, ...TEXTS]) {
        if (settings[name] !== defaults[name]) parameters.set(name, settings[name]);
    }
    return `#${parameters}`;
}

/** The policies and settings of a fragment; what it does not say, or says wrongly, is as in `defaults`. */
export function fromFragment(fragment, policies, defaults) {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
    const settings = { ...defaults };
    for (const name of NUMBERS) {
        const number = Number(parameters.get(name));
        if (parameters.has(name) && Number.isFinite(number) && number >= 0) settings[name] = number;
    }
    for (const name of TEXTS) {
        if (parameters.has(name)) settings[name] = parameters.get(name);
    }
    const given = parameters.getAll("p").filter((text) => text !== "");
    return { policies: given.length > 0 ? given : policies, settings };
}

// Draws what the policies of docs/POLICIES.md admit: node pictures.mjs MODULE.wasm DOCUMENTS [--check]
//
// Each picture of the page is drawn of the policy in the block above it. With --check nothing is written: a picture that
// is not as the core draws it is an error, and so is a policy in a block of docs/CHOOSING.md that is none.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "./src/core.js";
import { Session } from "./src/session.js";

const [module, documents, flag] = process.argv.slice(2);
const [WIDTH, TOP, LEVEL, SPAN] = [680, 22, 60, 16];
const DOTS = TOP + LEVEL + 52;
const AXIS = DOTS + 10;
const SECOND = 1e9;

/** Twelve at 1 s, one a second from 3 s to 8 s, twelve at 9.8 s and twelve at 10.2 s. */
const requests = [[12, 1], [1, 3], [1, 4], [1, 5], [1, 6], [1, 7], [1, 8], [12, 9.8], [12, 10.2]].flatMap(([count, second]) => Array(count).fill(second));

const STYLE = `
svg{--allowed:#2563a8;--denied:#c2410c;--delayed:#7c6a9c;--limit:#1f2937;--faint:#4b5563;--paper:#fbfbf9}
@media (prefers-color-scheme:dark){svg{--allowed:#6aa5e3;--denied:#f08a4b;--delayed:#b3a3d1;--limit:#e5e7eb;--faint:#a1a7af;--paper:#14161a}}
rect{fill:var(--paper)}text{font:13px system-ui,sans-serif;fill:var(--faint)}circle{stroke-width:1.5}
.a{fill:var(--allowed);stroke:var(--allowed)}.n{fill:var(--paper);stroke:var(--denied)}.d{fill:var(--paper);stroke:var(--delayed)}
.h{fill:var(--delayed)}.f{fill:var(--allowed);opacity:.16}.c{fill:none;stroke:var(--allowed);stroke-width:1.5}
.l{stroke:var(--limit);stroke-width:1.5}.x{stroke:var(--faint)}`;

const x = (ns) => Number(((ns / SECOND / SPAN) * WIDTH).toFixed(1));
const high = (share) => Number((TOP + LEVEL * (1 - Math.min(1, share))).toFixed(1));

function dot(left, top, { outcome, delayNs }) {
    if (outcome !== "allowed") return `<circle class="n" cx="${left}" cy="${top}" r="4"/>`;
    if (delayNs === 0n) return `<circle class="a" cx="${left}" cy="${top}" r="4"/>`;
    return `<circle class="d" cx="${left}" cy="${top}" r="4"/><path class="h" d="M${left} ${top - 4}a4 4 0 0 0 0 8z"/>`;
}

function picture(core, policy) {
    const session = new Session(core, [policy]);
    session.stepNs = SECOND / 50;
    for (const second of requests) session.request(Math.round(second * SECOND), 0);
    session.advance(SPAN * SECOND);
    const [{ allowed, denied }] = session.totals;
    const points = session.courses[0].map(({ atNs, fill }) => `${x(atNs)} ${high(fill)}`);
    // Of points on one level the first and the last are enough.
    const level = (place) => points[place]?.split(" ")[1];
    const course = points.filter((_, place) => level(place - 1) !== level(place) || level(place + 1) !== level(place)).join("L");
    const stacked = new Map();
    const dots = session.requests.map(({ atNs }, place) => {
        const above = stacked.get(atNs) ?? 0;
        stacked.set(atNs, above + 1);
        return dot(x(atNs), DOTS - 4 * above, session.decisions[0][place]);
    });
    const marks = [0, 5, 10, 15].map((second) => `<path class="x" d="M${x(second * SECOND)} ${AXIS}v4"/>` +
        `<text x="${x(second * SECOND)}" y="${AXIS + 17}" text-anchor="${second === 0 ? "start" : "middle"}">${second} s</text>`);
    const title = `${policy} allows ${allowed} of ${allowed + denied} requests`;
    const height = AXIS + 24;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title.replaceAll("&", "&amp;")}">
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${height}"/>
<text x="0" y="14">${title.replaceAll("&", "&amp;")}</text><text x="${WIDTH}" y="14" text-anchor="end">limit ${core.policy(policy).capacity}</text>
<path class="f" d="M0 ${high(0)}L${course}L${WIDTH} ${high(0)}z"/><path class="c" d="M${course}"/>
<path class="l" d="M0 ${TOP}H${WIDTH}"/>
${dots.join("")}
<path class="x" d="M0 ${AXIS}H${WIDTH}"/>${marks.join("")}
</svg>
`;
}

const core = await load(await readFile(module));
const failures = [];

/** The text blocks of a document: policies, one a line. */
async function policies(name) {
    const text = await readFile(join(documents, name), "utf8");
    const found = [...text.matchAll(/^```text\n(.*?)^```\n(?:\n!\[.*?\]\((.*?)\))?/gms)];
    if (found.length === 0) throw new Error(`${name}: no policy is found: does this still read it?`);
    return found.flatMap(([, block, picture]) => block.trim().split("\n").map((policy) => ({ policy, picture })));
}

for (const { policy } of await policies("CHOOSING.md")) {
    const { message } = core.policy(policy);
    if (message) failures.push(`CHOOSING.md: ${policy}: ${message}`);
}
await mkdir(join(documents, "pictures"), { recursive: true });
for (const { policy, picture: name } of await policies("POLICIES.md")) {
    const { message } = core.policy(policy);
    if (message) failures.push(`POLICIES.md: ${policy}: ${message}`);
    if (message || !name) continue;
    const drawn = picture(core, policy);
    const path = join(documents, name);
    if (flag !== "--check") await writeFile(path, drawn);
    else if ((await readFile(path, "utf8").catch(() => "")) !== drawn) failures.push(`${name}: the core draws another picture: ci/site.sh --bless`);
}
if (failures.length > 0) {
    console.error(failures.join("\n"));
    process.exit(1);
}

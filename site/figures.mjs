// The figures and versions of docs/COMPARISON.md: node figures.mjs ROOT [--check]
//
// The figures are rows of docs/BENCHMARKS.md. A version that is not that of a lock file is an error.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const [root, flag] = process.argv.slice(2);
const read = (name) => readFile(join(root, name), "utf8");

const TITLE = "### Uniform keys, each check alone, allowed";
const ROWS = [
    "**ratecell**, own clock, own hash", "**ratecell**, own clock, own hash, batch of 32", "governor, own clock, own hash",
    "Mutex of hashbrown", "throttlecrab in a Mutex, caller's clock", "pingora-limits, own clock",
];
const PLACES = {
    governor: "benches/compare/Cargo.lock", ratelimit: "benches/compare/Cargo.lock", throttlecrab: "benches/compare/Cargo.lock",
    "pingora-limits": "benches/compare/Cargo.lock", "golang.org/x/time": "bindings/go/bench/go.mod",
    limits: "bindings/python/requirements.txt", "pyrate-limiter": "bindings/python/requirements.txt",
    "throttled-py": "bindings/python/requirements.txt",
};

const failures = [];
const page = await read("docs/COMPARISON.md");
for (const [peer, place] of Object.entries(PLACES)) {
    const version = new RegExp(`\\| \\[${peer.replaceAll(".", "\\.")}(?:/rate)?\\]\\(.*?\\) \\| (\\S+) \\|`).exec(page)?.[1];
    const text = await read(place);
    const ways = [`name = "${peer}"\nversion = "${version}"`, `\n${peer}==${version}\n`, `\t${peer} ${version}\n`];
    if (!version || !ways.some((way) => text.includes(way))) {
        failures.push(`docs/COMPARISON.md: ${peer} ${version ?? "has no version"}: expected that of ${place}`);
    }
}

const section = (await read("docs/BENCHMARKS.md")).split(`${TITLE}\n`)[1]?.split("\n#")[0] ?? "";
const lines = section.split("\n").filter((line) => line.startsWith("|"));
const cells = (line) => line.split(" | ").slice(0, -1).join(" | ");
const chosen = ROWS.map((row) => lines.find((line) => line.startsWith(`| ${row} |`)) ?? failures.push(`docs/BENCHMARKS.md: no row ${row}`));
const table = [lines[0], lines[1], ...chosen].map((line) => `${cells(String(line))} |`).join("\n");
const [before, rest] = page.split("<!-- figures -->\n");
const after = rest.split("<!-- /figures -->")[1];
const whole = `${before}<!-- figures -->\n\n${table}\n\n<!-- /figures -->${after}`;
if (flag !== "--check") await writeFile(join(root, "docs/COMPARISON.md"), whole);
else if (whole !== page) failures.push("docs/COMPARISON.md: its figures are not those of docs/BENCHMARKS.md: ci/site.sh --bless");
if (failures.length > 0) {
    console.error(failures.join("\n"));
    process.exit(1);
}

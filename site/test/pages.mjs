// Follows each link of the pages: node test/pages.mjs SITE
//
// A link within the site leads to a file and, if it has a fragment, to an element of that id. No page loads anything from
// elsewhere.
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";

const [site] = process.argv.slice(2);
const names = (await readdir(site, { recursive: true })).map(String);
const files = new Set(names);
const pages = names.filter((name) => name.endsWith(".html"));
const texts = new Map(await Promise.all(pages.map(async (name) => [name, await readFile(join(site, name), "utf8")])));
const ids = new Map([...texts].map(([name, text]) => [name, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))]));

const failures = [];
let links = 0;
for (const [name, text] of texts) {
    // What a script writes is no link of the page.
    const markup = text.replace(/<script[\s\S]*?<\/script>/g, "");
    for (const [, tag, attribute, address] of markup.matchAll(/<(\w+)\s[^>]*?\b(href|src)="([^"]*)"/g)) {
        links += 1;
        if (address.startsWith("data:")) continue;
        if (/^[a-z]+:/.test(address)) {
            if (tag !== "a") failures.push(`${name}: <${tag}> is loaded from ${address}`);
            continue;
        }
        const [path, fragment] = decodeURI(address).split("#");
        const target = path === "" ? name : normalize(join(dirname(name), path));
        if (!files.has(target)) failures.push(`${name}: ${attribute} ${address}: no ${relative("", target)}`);
        else if (fragment && ids.has(target) && !ids.get(target).has(fragment)) failures.push(`${name}: ${address}: no such place`);
    }
    for (const [outside] of markup.matchAll(/@import[^;]*|url\(["']?https?:[^)]*/g)) failures.push(`${name}: ${outside}`);
    if (markup.includes("```")) failures.push(`${name}: a block of code is not read as one`);
    if (name !== "playground.html" && /<script/.test(text)) failures.push(`${name}: has a script`);
}
for (const name of ["index.html", "playground.html", "docs/CHOOSING.html", "docs/POLICIES.html", "docs/WHEN-NOT.html"]) {
    if (!texts.has(name)) failures.push(`no page ${name}`);
}
if (links < 500) failures.push(`only ${links} links are found: does this still read them?`);
if (failures.length > 0) {
    console.error(failures.join("\n"));
    process.exit(1);
}
console.log(`${pages.length} pages with ${links} links: each leads somewhere`);

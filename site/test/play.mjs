// Plays the playground in Chromium: node test/play.mjs PAGE.html VECTORS [SCREENSHOTS]
//
// Every published decision is compared: those of basic.jsonl as the page shows them, the others as it makes them.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { sections } from "./vectors.mjs";

const [file, vectors, screenshots] = process.argv.slice(2);
const address = pathToFileURL(resolve(file)).href;
const ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
];

const profile = await mkdtemp(join(tmpdir(), "ratecell-site-"));
const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", args: ARGUMENTS, headless: true, viewport: { width: 1280, height: 900 }, acceptDownloads: false,
});
const requested = [];
const complaints = [];

/** A page of its own at `fragment`, once it is ready. */
async function open(fragment = "", viewport = null) {
    const page = await context.newPage();
    if (viewport) await page.setViewportSize(viewport);
    page.on("request", (request) => requested.push(request.url()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(address + fragment);
    await page.waitForSelector("body[data-ready]");
    return page;
}

const tests = {
    /** Row by row with the button, what stands above the lane. */
    async "what is shown is as published"() {
        const page = await open();
        let count = 0;
        for (const { name, policy, rows } of await sections(join(vectors, "basic.jsonl"))) {
            const keys = [...new Set(rows.map((row) => row.key))];
            const seconds = (ns) => `${ns.slice(0, -9) || "0"}.${ns.padStart(9, "0").slice(-9)}`;
            const list = rows.map((row) => `${seconds(row.now)} ${keys.indexOf(row.key)} ${row.cost}`).join("\n");
            await page.evaluate(([policy, list]) => {
                location.hash = `#${new URLSearchParams({ p: policy, shape: "list", list })}`;
            }, [policy, list]);
            await page.waitForFunction((policy) => document.querySelector(".policy").value === policy, policy);
            await page.getByRole("button", { name: "Pause" }).or(page.getByRole("button", { name: "Run" })).first().waitFor();
            const shown = await page.evaluate((count) => {
                const get = (id) => document.getElementById(id);
                if (get("run").textContent === "Pause") get("run").click();
                get("restart").click();
                const value = (name) => document.querySelector(`.says data.${name}`)?.value ?? "0";
                return Array.from({ length: count }, () => {
                    get("next").click();
                    return [document.querySelector(".says .outcome").classList[1], value("remaining"), value("retry"), value("reset"), value("delay")].join(" ");
                });
            }, rows.length);
            rows.forEach((row, place) => {
                const published = [row.outcome, row.remaining, row.retry, row.reset, row.delay].join(" ");
                assert.equal(shown[place], published, `${name}, row ${place + 1}, of ${policy}`);
            });
            count += rows.length;
        }
        assert.equal(count, 1290);
        await page.close();
        return `${count} decisions as shown`;
    },

    /** In this browser, by the module that the page has. */
    async "every decision is as published"() {
        const page = await open("#p=1/s&shape=none");
        let count = 0;
        const files = (await readdir(vectors)).filter((name) => /^(basic|backwards|boundary|bursts|calendar|float|huge|idle|random)\.jsonl$/.test(name));
        for (const name of files) {
            for (const section of await sections(join(vectors, name))) {
                const wrong = await page.evaluate(({ policy, epoch, rows }) => {
                    const { core } = globalThis.playground;
                    core.start(1, [policy], epoch);
                    const keys = new Map();
                    for (const [place, row] of rows.entries()) {
                        if (!keys.has(row.key)) keys.set(row.key, keys.size);
                        const [made] = core.decide(1, keys.get(row.key), BigInt(row.now), row.cost);
                        const got = [made.outcome, made.remaining, made.retryNs ?? "never", made.resetNs, made.delayNs].join(" ");
                        const published = [row.outcome, row.remaining, row.retry, row.reset, row.delay].join(" ");
                        if (got !== published) return `row ${place + 1}: ${got}, published ${published}`;
                    }
                    return null;
                }, section);
                assert.equal(wrong, null, `${name}, ${section.name}, of ${section.policy}`);
                count += section.rows.length;
            }
        }
        await page.close();
        assert.ok(count > 150_000, `only ${count} rows were read`);
        return `${count} decisions`;
    },

    async "an error stands under its place, and the lane goes on"() {
        const page = await open("#p=10%2F5s&shape=none");
        const policy = page.getByRole("textbox", { name: "Policy of this lane" });
        await policy.fill("10/5s brust=20");
        const error = page.locator(".lane .error");
        assert.match(await error.textContent(), /^ {6}↑\nsyntax at column 7: /);
        assert.equal(await policy.getAttribute("aria-invalid"), "true");
        await page.getByRole("button", { name: "One request" }).press("Enter");
        assert.match(await page.locator(".says").textContent(), /allowed9 remaining/);
        await policy.fill("10/5s burst=20");
        assert.equal(await error.isHidden(), true);
        assert.match(await page.locator(".says").textContent(), /allowed19 remaining/);
        await page.close();
    },

    async "it is played by the keyboard, and said aloud"() {
        const page = await open("#p=2%2F5s&p=5%2F5s&shape=none");
        await page.getByRole("button", { name: "Pause" }).press("Space");
        const one = page.getByRole("button", { name: "One request" });
        for (let count = 0; count < 3; count += 1) await one.press("Enter");
        assert.equal(await page.locator("#live").textContent(), "Request 3: allowed by 1 of 2 lanes.");
        const fields = await page.locator(".fields").first().textContent();
        assert.equal(fields, 'RateLimit-Policy: "playground";q=2;w=5\nRateLimit: "playground";r=0;t=3\nRetry-After: 3\n');
        await page.keyboard.press("Tab");
        const unnamed = await page.evaluate(() => Array.from(document.querySelectorAll("button, input, select, textarea, canvas"))
            .filter((element) => !(element.labels?.length || element.getAttribute("aria-label") || element.textContent.trim())).length);
        assert.equal(unnamed, 0);
        await page.close();
    },

    /** By the keyboard, and said aloud: a permit comes back in the lanes that have one out, also when they are looked back at. */
    async "permits are released by hand"() {
        const page = await open("#p=in_flight+2+hold%3D60s&p=2%2F5s&shape=none");
        await page.getByRole("button", { name: "Pause" }).press("Space");
        const one = page.getByRole("button", { name: "One request" });
        const release = page.getByRole("button", { name: "Release a permit" });
        const says = page.locator(".says").first();
        const live = page.locator("#live");
        await release.press("Enter");
        assert.equal(await live.textContent(), "No permit is out.");
        for (let count = 0; count < 3; count += 1) await one.press("Enter");
        assert.match(await says.textContent(), /denied0 remaining/);
        await release.press("Enter");
        assert.equal(await live.textContent(), "A permit came back in 1 of 2 lanes.");
        assert.match(await says.textContent(), /a permit came back1 remaining/);
        assert.match(await page.locator(".says").nth(1).textContent(), /denied0 remaining/);
        await one.press("Enter");
        assert.match(await says.textContent(), /allowed0 remaining/);
        const again = await page.evaluate(() => {
            const { session, settings } = globalThis.playground;
            return session.at(session.nowNs, settings.style).map((lane) => String(lane.peek.remaining)).join();
        });
        assert.equal(again, "0,0");
        assert.match(await page.locator(".totals").first().textContent(), /3 allowed · 1 denied/);
        // Another policy decides the same requests and releases.
        await page.getByRole("textbox", { name: "Policy of this lane" }).first().fill("in_flight 3 hold=60s");
        assert.match(await page.locator(".totals").first().textContent(), /4 allowed · 0 denied/);
        await page.getByRole("textbox", { name: "Policy of this lane" }).first().fill("3/s");
        assert.equal(await release.isHidden(), true);
        await page.close();
    },

    /** A mark where the next try is allowed, which a screen reader hears, and which goes when it is reached. */
    async "a refusal says when to retry"() {
        const page = await open("#p=fixed_window+1%2F10s&shape=list&list=" + encodeURIComponent("1\n4\n12"));
        await page.getByRole("button", { name: "Pause" }).press("Space");
        await page.getByRole("button", { name: "Restart" }).click();
        const next = page.getByRole("button", { name: "Next request" });
        const canvas = page.getByRole("img");
        const mark = () => page.evaluate(() => {
            const canvas = document.querySelector("canvas");
            globalThis.playground.draw();
            const ratio = canvas.width / canvas.clientWidth;
            const style = getComputedStyle(document.body).getPropertyValue("--denied").trim();
            const wanted = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
            // Right of now, between the dots and the axis.
            const [left, wide] = [Math.round(0.74 * canvas.width), Math.round(0.26 * canvas.width)];
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(left, Math.round(92 * ratio), wide, 2);
            for (let at = 0; at < data.length; at += 4) {
                if (wanted.every((value, place) => Math.abs(value - data[at + place]) < 40) && data[at + 3] > 100) {
                    return Math.round((((left + (at / 4) % wide) / canvas.width) - 0.72) * 20);
                }
            }
            return null;
        });
        await next.click();
        assert.doesNotMatch(await canvas.getAttribute("aria-label"), /next try/);
        assert.equal(await mark(), null);
        await next.click();
        assert.match(await canvas.getAttribute("aria-label"), / The next try is allowed in 6 s\.$/);
        // The span is 20 s, and now stands at 72 % of the width: 6 s are beyond the edge, which is 5.6 s away.
        assert.ok([5, 6].includes(await mark()), String(await mark()));
        await next.click();
        assert.doesNotMatch(await canvas.getAttribute("aria-label"), /next try/);
        assert.equal(await mark(), null);
        await page.close();
    },

    async "a button that is held is a stream"() {
        const page = await open("#p=2%2F5s&shape=none");
        await page.getByRole("button", { name: "One request" }).hover();
        await page.mouse.down();
        await page.waitForFunction(() => globalThis.playground.session.requests.length >= 4);
        await page.mouse.up();
        const count = await page.evaluate(() => globalThis.playground.session.requests.length);
        await page.waitForTimeout(300);
        assert.equal(await page.evaluate(() => globalThis.playground.session.requests.length), count);
        await page.close();
    },

    /** Looking back replays the requests: the same answers as when they came. */
    async "what was can be looked back at"() {
        const page = await open("#p=10%2F5s&p=sliding_log+10%2F5s&shape=poisson&rate=4");
        await page.getByRole("button", { name: "To the end" }).click();
        const seen = await page.evaluate(() => {
            const { session, settings } = globalThis.playground;
            const remaining = (atNs) => session.at(atNs, settings.style).map((lane) => String(lane.peek.remaining)).join();
            const instants = session.requests.map((request) => request.shownNs);
            const after = session.requests.map((_, place) => session.decisions.map((lane) => String(lane[place].remaining)).join());
            const order = [...instants.keys()].sort((one, two) => (one * 7919) % 101 - (two * 7919) % 101);
            return { count: instants.length, wrong: order.filter((place) => remaining(instants[place]) !== after[place]) };
        });
        assert.ok(seen.count > 40);
        assert.deepEqual(seen.wrong, []);
        await page.getByRole("button", { name: "Back" }).click();
        assert.match(await page.locator("#time").textContent(), /then/);
        await page.getByRole("slider", { name: "Look back" }).press("Home");
        assert.match(await page.locator("#time").textContent(), /then 0\.0 s/);
        await page.getByRole("button", { name: "Run" }).click();
        assert.match(await page.locator("#time").textContent(), /now/);
        await page.close();
    },

    async "a link holds the state"() {
        const page = await open();
        await page.getByLabel("Lesson").selectOption({ label: "Two clients" });
        await page.getByLabel("Span").selectOption("10");
        const fragment = new URL(page.url()).hash;
        const other = await open(fragment);
        const shown = (of) => of.evaluate(() => [...document.querySelectorAll(".policy, select:not(#lesson):not(#add), input[type=range]:not(#scrub)")].map((element) => element.value));
        assert.deepEqual(await shown(other), await shown(page));
        assert.equal(await other.locator(".policy").first().inputValue(), "10/5s");
        await page.close();
        await other.close();
        const broken = await open("#p=nonsense&rate=x");
        assert.match(await broken.locator("#said").textContent(), /nonsense, which is no policy: /);
        await broken.close();
    },

    /** What each lesson says that can be seen, in numbers. */
    async "each lesson shows what it says"() {
        const page = await open();
        const totals = {};
        for (const name of await page.locator("#lesson option").allTextContents()) {
            if (name === "choose one") continue;
            await page.getByLabel("Lesson").selectOption({ label: name });
            await page.getByRole("button", { name: "To the end" }).click();
            totals[name] = await page.evaluate(() => globalThis.playground.session.totals.map((lane) => [lane.allowed, lane.denied]));
        }
        assert.deepEqual(totals["The edge of a window"], [[20, 0], [11, 9], [10, 10]]);
        assert.deepEqual(totals["A burst"], [[10, 2], [1, 11], [10, 2], [10, 2]]);
        assert.deepEqual(totals["Two clients"].map(([, denied]) => denied), [0, 0]);
        assert.deepEqual(totals["A clock that steps back"], [[6, 2], [6, 2], [6, 2]]);
        const [tenth, spaced, lenient] = totals["Why not 10 per second as 1 per 100 ms"].map(([, denied]) => denied);
        assert.ok(tenth === 0 && spaced > 20 && lenient < spaced / 3, `${tenth} ${spaced} ${lenient}`);
        assert.doesNotMatch(await page.locator(".totals").nth(1).textContent(), /unlike the first lane/);
        await page.getByLabel("Mark decisions unlike").check();
        const unlike = await page.evaluate(() => {
            const [first, second] = globalThis.playground.session.decisions;
            return second.filter((row, place) => row.outcome !== first[place].outcome).length;
        });
        assert.ok(unlike > 0);
        assert.ok((await page.locator(".totals").nth(1).textContent()).endsWith(` · ${unlike} unlike the first lane`));
        await page.close();
        return `${Object.keys(totals).length} lessons`;
    },

    async "a log is replayed in the page"() {
        const page = await open("#p=sliding_window+3%2F1m&shape=none");
        const at = (second) => `24/Nov/2026:09:00:${String(second).padStart(2, "0")} +0000`;
        const line = (client, second) => `${client} - - [${at(second)}] "GET / HTTP/1.1" 200 5\n`;
        const log = Array.from({ length: 10 }, (_, second) => line("203.0.113.7", second) + (second < 2 ? line("2001:db8::1", second) : "")).join("");
        await page.locator("#shape").selectOption("log");
        await page.getByLabel(/An access log/).setInputFiles({ name: "access.log", mimeType: "text/plain", buffer: Buffer.from(log) });
        await page.waitForFunction(() => document.getElementById("said").textContent.startsWith("access.log"));
        assert.match(await page.locator("#said").textContent(), /12 requests of 2 clients, read as .*Client 1 is 203\.0\.113\.7\./);
        assert.match(await page.locator(".totals").textContent(), /5 allowed · 7 denied/);
        await page.getByLabel(/An access log/).setInputFiles({ name: "no.log", mimeType: "text/plain", buffer: Buffer.from("a\nb\n") });
        await page.waitForFunction(() => document.getElementById("said").textContent.startsWith("no.log: no format reads"));
        await page.close();
    },

    /** Printed, and not asserted: they are of this machine. */
    async "how fast it is"() {
        const page = await open("#shape=steady&rate=1000");
        const start = await page.evaluate(() => document.body.dataset.ready);
        const frames = await page.evaluate(() => new Promise((done) => {
            let count = 0;
            const begun = performance.now();
            const frame = () => {
                count += 1;
                const passed = performance.now() - begun;
                if (passed < 3000) requestAnimationFrame(frame);
                else done(Math.round((1000 * count) / passed));
            };
            requestAnimationFrame(frame);
        }));
        const lanes = await page.locator(".lane").count();
        await page.close();
        return `ready ${start} ms after the start; ${frames} frames a second with 1,000 requests a second on ${lanes} lanes`;
    },
};

async function pictures(folder) {
    const sizes = { wide: { width: 1280, height: 1000 }, phone: { width: 390, height: 844 } };
    for (const colorScheme of ["light", "dark"]) {
        for (const [name, viewport] of Object.entries(sizes)) {
            const page = await open("", viewport);
            await page.emulateMedia({ colorScheme });
            await page.getByRole("button", { name: "To the end" }).click();
            await page.waitForTimeout(200);
            await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true });
            await page.close();
        }
    }
}

try {
    for (const [name, test] of Object.entries(tests)) {
        const said = await test();
        console.log(`${name}${said ? `: ${said}` : ""}`);
    }
    if (screenshots) await pictures(screenshots);
    assert.deepEqual(complaints, []);
    assert.deepEqual(requested.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), [], "it asked the network");
} finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
}

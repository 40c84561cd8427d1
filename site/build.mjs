// Builds the playground as one file: node build.mjs MODULE.wasm OUTPUT.html
//
// Style, script and module are in it, so it needs no network, and no server either.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** What a visitor loads at most, as a server sends it. */
const MOST_BYTES = 300_000;

const [module, output] = process.argv.slice(2);
if (output === undefined) {
    console.error("node build.mjs MODULE.wasm OUTPUT.html");
    process.exit(2);
}
const here = fileURLToPath(new URL(".", import.meta.url));
const packed = gzipSync(await readFile(module), { level: 9 });
await mkdir(join(here, "build"), { recursive: true });
await writeFile(join(here, "build/core.wasm.gz"), packed);
const bundled = async (entry) => {
    const { outputFiles } = await build({
        absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, format: "esm", target: "es2023",
        charset: "utf8", loader: { ".gz": "binary" }, logLevel: "warning",
    });
    return outputFiles[0].text.trim();
};
const [script, style, page] = [await bundled("src/main.js"), await bundled("style.css"), await readFile(join(here, "playground.html"), "utf8")];
if (/<\/(script|style)/i.test(script + style)) throw new Error("the script or the style would end its element");
const parts = { "/* STYLE */": style, "/* SCRIPT */": script };
const whole = page.replace(/\/\* (STYLE|SCRIPT) \*\//g, (mark) => parts[mark]);
await writeFile(output, whole);
const sent = gzipSync(whole, { level: 9 }).length;
console.log(`the playground: ${whole.length} bytes, ${sent} as a server sends it`);
if (sent >= MOST_BYTES) {
    console.error(`${output}: ${sent} bytes compressed, expected fewer than ${MOST_BYTES}`);
    process.exit(1);
}

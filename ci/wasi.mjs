// Runs a program built for wasm32-wasip1, as cargo's runner: node ci/wasi.mjs PROGRAM [ARG...]
//
// It sees the sources and the folder of temporary files, under their own names.
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const { CARGO_MANIFEST_DIR, PROPTEST_RNG_SEED, RUST_BACKTRACE } = process.env;
const given = Object.entries({ CARGO_MANIFEST_DIR, PROPTEST_RNG_SEED, RUST_BACKTRACE });
const sources = dirname(dirname(fileURLToPath(import.meta.url)));
const wasi = new WASI({
    version: "preview1",
    args,
    env: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    preopens: { [sources]: sources, [tmpdir()]: tmpdir() },
    returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);

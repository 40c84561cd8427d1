'use strict'

// The native part, and the page by which it is called: src/page.rs says what is where.

const { readdirSync } = require('node:fs')
const { join } = require('node:path')

const PREBUILT = join(__dirname, '..', 'prebuilt')

/** The name of this platform, as the files in `prebuilt` have it. */
function platform() {
  const { platform: system, arch } = process
  if (system !== 'linux') return `${system}-${arch}`
  // A Node that is linked to glibc says with which it runs.
  const { glibcVersionRuntime } = process.report.getReport().header
  return `linux-${arch}-${glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/** The native part for the platform `name`. */
function load(name, folder = PREBUILT) {
  const files = readdirSync(folder, { withFileTypes: false }).filter((file) => file.endsWith('.node')).sort()
  const there = files.map((file) => file.slice(0, -'.node'.length))
  if (!there.includes(name)) {
    throw new Error(
      `ratecell has no library for ${name}: expected one of ${there.join(', ') || 'none'}; to build it, run ` +
        '`npm run build` in bindings/node of the sources, with Rust from https://rustup.rs'
    )
  }
  return require(join(folder, `${name}.node`))
}

const native = load(platform())
const layout = native.layout()
const memory = new ArrayBuffer(layout.page)
const bytes = new Uint8Array(memory)
/** It keeps the page's memory, and this module keeps it. */
const page = new native.Page(bytes)

module.exports = {
  native,
  layout,
  page,
  load,
  platform,
  bytes,
  floats: new Float64Array(memory),
  longs: new BigUint64Array(memory),
  words: new Uint32Array(memory)
}

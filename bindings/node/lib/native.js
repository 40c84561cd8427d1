'use strict'

// The native part, and the page by which it is called: src/page.rs says what is where.

const { existsSync, readdirSync } = require('node:fs')
const { join } = require('node:path')
const { platform } = require('./platform')

const PREBUILT = join(__dirname, '..', 'prebuilt')

/** The native part for the platform `name`. */
function load(name, folder = PREBUILT) {
  const files = existsSync(folder) ? readdirSync(folder) : []
  const there = files.filter((file) => file.endsWith('.node')).map((file) => file.slice(0, -'.node'.length)).sort()
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
  bytes,
  floats: new Float64Array(memory),
  longs: new BigUint64Array(memory),
  words: new Uint32Array(memory)
}

'use strict'

// Runs the programs of a document. A line with `// => VALUE` states what the expression before it is.
//
//     node snippets.js README.md     its first program, from the folder where it is called

const { execFileSync } = require('node:child_process')
const { readFileSync, unlinkSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const BLOCK = /^```(m?js)\n([\s\S]*?)^```$/gm
const STATED = /^(?<before>\s*)(?<expression>\S.*?)\s+\/\/ => (?<value>.+)$/

/** The programs of a text: the language and the code of each. */
const programs = (text) => [...text.matchAll(BLOCK)].map(([, language, code]) => ({ language, code }))

/** How many values a program states. */
const statedIn = ({ code }) => code.split('\n').filter((line) => STATED.test(line)).length

/** Runs one in a folder from which it finds the package; it throws where a value is another. */
function run({ language, code }, folder) {
  const checked = code.split('\n').map((line) => {
    const stated = STATED.exec(line)?.groups
    if (stated === undefined) return line
    return `${stated.before}checked.deepStrictEqual((${stated.expression}), (${stated.value}))`
  })
  const program =
    language === 'mjs'
      ? ["import checked from 'node:assert'", ...checked]
      : ["const checked = require('node:assert')", ';(async () => {', ...checked, '})()']
  const file = join(folder, `snippet-${process.pid}.${language === 'mjs' ? 'mjs' : 'cjs'}`)
  writeFileSync(file, program.join('\n'))
  try {
    return execFileSync(process.execPath, [file], { encoding: 'utf8', cwd: folder })
  } finally {
    unlinkSync(file)
  }
}

module.exports = { programs, run, statedIn }
if (require.main === module) {
  const [first] = programs(readFileSync(process.argv[2], 'utf8'))
  process.stdout.write(run(first, process.cwd()))
  console.log(`${statedIn(first)} stated by the first lines, and so it is`)
}

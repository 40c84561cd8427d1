'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { readFileSync, unlinkSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { test } = require('node:test')

const ratecell = require('ratecell')
const { programs, run, statedIn } = require('./snippets')

const FOLDER = join(__dirname, '..')
const README = programs(readFileSync(join(FOLDER, 'README.md'), 'utf8'))

for (const [number, program] of README.entries()) {
  test(`the README's program ${number + 1} does what it says`, () => {
    run(program, __dirname)
  })
}

test("the project's README has a program for Node", () => {
  const [program, ...others] = programs(readFileSync(join(FOLDER, '..', '..', 'README.md'), 'utf8'))
  assert.equal(others.length, 0)
  assert.ok(program.code.includes("'/run/limits'"))
  const path = join(tmpdir(), `ratecell-readme-${process.pid}`)
  const code = `const { Limiter } = require('ratecell')\n${program.code.replace('/run/limits', path)}decision.allowed // => true\n`
  try {
    run({ ...program, code }, __dirname)
  } finally {
    unlinkSync(path)
  }
})

test('a program that states another value fails', () => {
  assert.ok(README.length > 8)
  assert.ok(README.reduce((sum, program) => sum + statedIn(program), 0) > 20)
  assert.throws(() => run({ language: 'js', code: '1 + 1 // => 3\n' }, __dirname))
})

test('the types are those of a program that uses all of it', () => {
  const tsc = join(FOLDER, 'node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [tsc, '--project', join(__dirname, 'types')], { stdio: 'inherit' })
})

test('the types have what the module has', () => {
  const declared = readFileSync(join(FOLDER, 'index.d.ts'), 'utf8')
  const names = [...declared.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name).sort()
  assert.deepEqual([...new Set(names)], Object.keys(ratecell).sort())
  for (const [, name, body] of declared.matchAll(/^export class (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)) {
    if (name.endsWith('Error') || ['RateLimitExceeded', 'TooManyWaiting'].includes(name)) continue
    const methods = [...body.matchAll(/^  (\w+)\(/gm)].map(([, method]) => method)
    for (const method of methods.filter((each) => each !== 'constructor')) {
      assert.equal(typeof ratecell[name].prototype[method], 'function', `${name}.${method}`)
    }
    const own = Object.getOwnPropertyNames(ratecell[name].prototype).filter((each) => !each.startsWith('_'))
    for (const method of own) assert.match(body, new RegExp(`\\b${method}\\b`), `${name}.${method}`)
  }
})

test('the version is that of the crate', () => {
  const cargo = /^version = "(.*)"$/m.exec(readFileSync(join(FOLDER, 'Cargo.toml'), 'utf8'))[1]
  assert.equal(require('ratecell/package.json').version, cargo)
  assert.equal(require('../lib/native').layout.version, cargo)
})

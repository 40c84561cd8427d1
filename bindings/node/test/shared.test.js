'use strict'

// Threads and processes on one file: together they admit exactly what the policy allows.

const assert = require('node:assert/strict')
const cluster = require('node:cluster')
const { once } = require('node:events')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')

const { Limiter, Rules } = require('ratecell')

const POLICY = '1000/h'
const KEYS = ['a', 'b', 'c']
const TRIES = 2000
const RULES = `ratecell_rules = 1
[[rule]]
name = "all"
key = ["client"]
limit = "1000/h"
`

/** How many of its tries one user of the file had allowed, of each key. */
function admitted(path) {
  const limiter = new Limiter(POLICY, { path })
  const counts = { a: 0, b: 0, c: 0 }
  for (let number = 0; number < TRIES; number++) {
    for (const key of KEYS) if (limiter.checkAt(key, 1, 0).allowed) counts[key] += 1
  }
  return counts
}

/** The same by rules. */
function admittedByRules(file) {
  const rules = new Rules(RULES, { file })
  const counts = { a: 0, b: 0, c: 0 }
  for (let number = 0; number < TRIES; number++) {
    for (const client of KEYS) if (rules.decide({ client }, { atNs: 0 }).allowed) counts[client] += 1
  }
  return counts
}

const sum = (all) => KEYS.map((key) => all.reduce((total, counts) => total + counts[key], 0))

if (!isMainThread) {
  parentPort.postMessage((workerData.rules ? admittedByRules : admitted)(workerData.path))
} else if (cluster.isWorker) {
  process.send(admitted(process.env.RATECELL_TEST_PATH), () => process.exit(0))
} else {
  const { test } = require('node:test')
  const folder = mkdtempSync(join(tmpdir(), 'ratecell-'))
  test.after(() => rmSync(folder, { recursive: true }))

  test('threads admit together what the policy allows', async () => {
    const workers = [1, 2, 3, 4].map(() => new Worker(__filename, { workerData: { path: join(folder, 'threads') } }))
    const all = (await Promise.all(workers.map((worker) => once(worker, 'message')))).flat()
    assert.deepEqual(sum(all), [1000, 1000, 1000])
    console.log(`threads: admitted ${sum(all)[0]} of ${TRIES * workers.length} by ${workers.length}`)
  })

  test('threads admit together what rules allow', async () => {
    const data = { path: join(folder, 'rules'), rules: true }
    const workers = [1, 2, 3].map(() => new Worker(__filename, { workerData: data }))
    const all = (await Promise.all(workers.map((worker) => once(worker, 'message')))).flat()
    assert.deepEqual(sum(all), [1000, 1000, 1000])
  })

  test('the processes of a cluster admit together what the policy allows', async () => {
    const path = join(folder, 'cluster')
    cluster.setupPrimary({ exec: __filename, execArgv: [] })
    const workers = [1, 2, 3].map(() => cluster.fork({ RATECELL_TEST_PATH: path }))
    const all = (await Promise.all(workers.map((worker) => once(worker, 'message').then(([counts]) => counts))))
    await Promise.all(workers.map((worker) => worker.isDead() || once(worker, 'exit')))
    assert.deepEqual(sum(all), [1000, 1000, 1000])
    console.log(`cluster: admitted ${sum(all)[0]} of ${TRIES * workers.length} by ${workers.length}`)
    assert.equal(new Limiter(undefined, { path }).policy, POLICY)
    assert.throws(() => new Limiter('fixed_window 7/h', { path }), RangeError)
  })

  test('a thread that ends leaves the others alone', async () => {
    const limiter = new Limiter('10/h')
    for (let number = 0; number < 3; number++) {
      const worker = new Worker("require('ratecell'); new (require('ratecell').Limiter)('1/s').check('k')", { eval: true })
      await once(worker, 'exit')
      assert.equal(limiter.check('k').allowed, true)
    }
  })
}

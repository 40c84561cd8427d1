'use strict'

// What a check takes, beside other limiters in memory: medians of rounds that take turns. `ci/node.sh --bench`

const { MemoryStore } = require('express-rate-limit')
const { RateLimiterMemory } = require('rate-limiter-flexible')
const { Limiter } = require('ratecell')
const { RatecellStore } = require('ratecell/express-rate-limit')

const ROUNDS = Number(process.argv[2] ?? 9)
const CHECKS = 200_000
const KEYS = Array.from({ length: 1024 }, (_, number) => `user:${number}`)

const limiter = new Limiter('1000000000/1m burst=1000000000', { maxKeys: 100_000 })
const flexible = new RateLimiterMemory({ points: 1_000_000_000, duration: 60 })
const memory = new MemoryStore()
memory.init({ windowMs: 60_000 })
const store = new RatecellStore()
store.init({ windowMs: 60_000 })

const WAYS = {
  'ratecell: check': () => {
    let allowed = 0
    for (let number = 0; number < CHECKS; number++) if (limiter.check(KEYS[number & 1023]).allowed) allowed += 1
    return allowed
  },
  'ratecell: decideMany, 1024 keys': () => {
    let allowed = 0
    for (let done = 0; done < CHECKS; done += KEYS.length) {
      for (const decision of limiter.decideMany(KEYS)) if (decision.allowed) allowed += 1
    }
    return allowed
  },
  'rate-limiter-flexible: RateLimiterMemory.consume': async () => {
    let allowed = 0
    for (let number = 0; number < CHECKS; number++) {
      if ((await flexible.consume(KEYS[number & 1023])).remainingPoints >= 0) allowed += 1
    }
    return allowed
  },
  'ratecell: RatecellStore.increment': async () => {
    let hits = 0
    for (let number = 0; number < CHECKS; number++) if ((await store.increment(KEYS[number & 1023])).totalHits > 0) hits += 1
    return hits
  },
  'express-rate-limit: MemoryStore.increment': async () => {
    let hits = 0
    for (let number = 0; number < CHECKS; number++) if ((await memory.increment(KEYS[number & 1023])).totalHits > 0) hits += 1
    return hits
  }
}

async function main() {
  const times = Object.fromEntries(Object.keys(WAYS).map((name) => [name, []]))
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, way] of Object.entries(WAYS)) {
      const start = process.hrtime.bigint()
      const allowed = await way()
      const ns = Number(process.hrtime.bigint() - start) / allowed
      if (allowed < CHECKS) throw new Error(`${name}: ${allowed} of ${CHECKS} were allowed`)
      if (round > 0) times[name].push(ns)
    }
  }
  const median = (values) => values.sort((one, other) => one - other)[values.length >> 1]
  const load = require('node:os').loadavg()[0].toFixed(1)
  console.log(`Node ${process.version}, median of ${ROUNDS} rounds of ${CHECKS} checks, load ${load}\n`)
  console.log('| | ns |\n| --- | ---: |')
  for (const [name, values] of Object.entries(times)) console.log(`| ${name} | ${median(values).toFixed(0)} |`)
  process.exit(0)
}

main()

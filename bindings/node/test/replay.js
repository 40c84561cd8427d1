'use strict'

// Replays the published decisions, whose format vectors/README.md describes, through the package.
//
//     node replay.js DIR     a line for each kind, and at last "N passed, M failed"
//
// A policy in JSON becomes text by its fields' names. The text has no words for two policies of construct.jsonl: no
// layers, and a layer that is layers. Both are no text at all, and so a syntax error here where the vectors say bad_layers.
// Nor has it numbers below 0, or a limit or time of another type.

const { readFileSync, readdirSync } = require('node:fs')
const { basename, join } = require('node:path')
const { isDeepStrictEqual } = require('node:util')

const { Clients, Limiter, PolicyError, Reservation, Rules, fields } = require('ratecell')
const { Decision, OUTCOMES } = require('../lib/decision')
const { Writer } = require('../lib/fields')
const { native } = require('../lib/native')

/** More keys than any section has: a limiter that evicts is not the one that the vectors describe. */
const MAX_KEYS = 4096
const FAILURES_SHOWN = 20
/** The outcomes by the codes of the vectors. */
const CODES = ['denied', 'allowed', 'never', 'clock_range']
const MAX_U64 = 2n ** 64n - 1n
const FIELDS = ['drafts', 'fields', 'fields_several', 'fields_construct']
const HELD = ['reserve', 'concurrency', 'concurrency_construct', 'change', 'change_refused']
const CLIENTS = ['client_keys', 'client_keys_addresses', 'client_keys_construct', 'rfc5952', 'rfc7239']

/** What is neither a text nor within one: the numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** JSON whose whole numbers past 2^53 are bigints, and all others numbers. */
function parse(line) {
  const marked = line.replace(TOKENS, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `{"$n":"${token}"}` : token
  )
  if (marked === line) return JSON.parse(line)
  return JSON.parse(marked, (_, value) =>
    value !== null && typeof value === 'object' && '$n' in value ? BigInt(value['$n']) : value
  )
}

const big = (number) => (number === null || number === undefined ? null : BigInt(number))

const RATES = ['limit', 'refill', 'leak']
const PERIODS = ['period_ns', 'interval_ns', 'window_ns']

function* layersOf(policy) {
  if (policy.layers === undefined) yield policy
  else for (const layer of policy.layers) yield* layersOf(layer)
}

/** One layer: `algorithm LIMIT/PERIODn option=value ...`. */
function layerText(layer) {
  let [limit, period] = ['', '']
  const options = []
  for (const [name, value] of Object.entries(layer)) {
    if (RATES.includes(name)) limit = String(value)
    else if (PERIODS.includes(name)) period = `/${value}ns`
    else if (name === 'period') period = `/${value}`
    else if (name === 'day' && typeof value === 'string') options.push(`day="${value}"`)
    else if (name !== 'algorithm') {
      options.push(name.endsWith('_ns') ? `${name.slice(0, -3)}=${value}ns` : `${name}=${value}`)
    }
  }
  return [layer.algorithm ?? '', limit + period, ...options].join(' ')
}

const policyText = (policy) => [...layersOf(policy)].map(layerText).join(' & ')

/** Whether the numbers of the policy are such as its text can have. */
function isSayable(policy) {
  const isNumber = (value) => typeof value === 'bigint' || Number.isInteger(value)
  return [...layersOf(policy)].every((layer) =>
    Object.entries(layer).every(
      ([name, value]) => !(RATES.includes(name) || name.endsWith('_ns')) || (isNumber(value) && value >= 0)
    )
  )
}

const epochOf = ({ epoch }) => (epoch === undefined ? undefined : Math.floor(Date.parse(epoch) / 1000))

/** What `call` returns, or the code of the policy that it refuses. */
function refusedCode(call) {
  try {
    call()
    return null
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return error
  }
}

/** Empty where the policy resolved as `expected`, as far as a caller can tell. */
function resolved(limiter, expected) {
  const last = big(expected.max_now_ns)
  const zone = limiter.policy.includes('tz=caller') ? limiter.zone('UTC') : undefined
  const { outcome } = limiter.peek('resolved', { atNs: last, zone })
  if (limiter.capacityUnits !== big(expected.capacity) || limiter.maxNowNs !== last || outcome !== 'allowed') {
    return `${limiter.capacityUnits} ${limiter.maxNowNs} ${outcome}`
  }
  if (last === MAX_U64) return ''
  const after = limiter.peek('resolved', { atNs: last + 1n, zone }).outcome
  return after === 'clock_range' ? '' : `${after} after the last instant`
}

function construct(line) {
  const text = policyText(line.policy)
  const error = text && isSayable(line.policy) ? (line.error ?? null) : 'syntax'
  let limiter
  const refused = refusedCode(() => {
    limiter = new Limiter(text, { maxKeys: MAX_KEYS, epochS: epochOf(line) })
  })
  if (refused) return refused.code === error ? '' : refused.message
  return error ? `a limiter of '${text}'` : resolved(limiter, line.resolved)
}

function grammar(line) {
  let got
  const refused = refusedCode(() => {
    got = new Limiter(line.text, { maxKeys: 1 }).policy
  })
  if (refused) {
    const expected = `${line.error} at column ${line.column}: ${line.message}`
    const held = refused.code === line.error && refused.message === expected && refused.column === line.column
    return held ? '' : refused.message
  }
  const meant = line.policy === undefined ? '' : new Limiter(policyText(line.policy), { maxKeys: 1 }).policy
  return got === line.canonical && got === meant ? '' : got
}

/** Whether a decision is as a row states it. */
function differs(decision, [code, remaining, retry, reset, delay = 0, back = 0]) {
  const got = [decision.outcome, decision.remainingUnits, decision.retryAfterNs, decision.resetAfterNs, decision.delayNs]
  const stated = [CODES[code], big(remaining), big(retry), big(reset), big(delay)]
  const held = got.every((value, number) => value === stated[number])
  return held && decision.allowed === (code === 1) && decision.givenBack === back ? '' : got.join(' ')
}

/** `judge` of decisions. */
class Decisions {
  line(value) {
    if (Array.isArray(value)) return this.request(value)
    if (value.section === undefined) return construct(value)
    this.end()
    this.limiter = new Limiter(policyText(value.policy), { maxKeys: MAX_KEYS, epochS: epochOf(value) })
    this.zones = new Map()
    const got = value.resolved ? resolved(this.limiter, value.resolved) : ''
    if (got) throw new Error(`section ${value.section} does not resolve as stated: ${got}`)
    return null
  }

  request(row) {
    let zone
    if (row[0] === 'in') {
      const name = row[1]
      if (!this.zones.has(name)) this.zones.set(name, this.limiter.zone(name))
      zone = this.zones.get(name)
      row = row.slice(2)
    }
    const [now, key, cost, ...stated] = row
    if (zone) return differs(this.limiter.decide(key, cost, { atNs: now, zone }), stated.slice(0, 5))
    return differs(this.limiter.checkAt(key, cost, now), stated.slice(0, 5))
  }

  end() {
    const { evicted, shared, deniedFull, allowedFull } = this.limiter?.stats({ atNs: 0 }) ?? {}
    if (evicted + shared + deniedFull + allowedFull > 0) throw new Error('the section that ends here had keys without room')
    this.limiter = undefined
  }
}

/** `judge` of fields. */
class Fields {
  line(value) {
    if (value.section !== undefined) {
      this.policies = value.policies
      // Of real layers there are limiters, too, whose fields are written by their policies.
      const isReal = /^(decided|several)\//.test(value.section)
      this.limiters = isReal
        ? value.policies.map(({ layers }) => new Limiter(layers.map(({ text }) => text).join(' & '), { maxKeys: 1 }))
        : null
      return null
    }
    const several = value.decisions ?? [value.decision]
    const made = several.map(decisionOf)
    const writer = new Writer(value.style)
    for (const policy of this.policies) {
      const layers = policy.layers.map((layer) => [layer.text, layer.limit, layer.period_ns ?? 0, layer.capacity])
      writer.addLayers(layers, labelOf(policy))
    }
    const got = [writer.write(made, made.keys(), big(value.now_unix_ns))]
    if (this.limiters && several.every(({ next_ns: next }) => next)) {
      const answers = made.map((decision, number) => ({
        limiter: this.limiters[number],
        decision,
        label: labelOf(this.policies[number])
      }))
      got.push(fields(answers, value.style, { nowUnixNs: value.now_unix_ns }))
    }
    return got.every((each) => isDeepStrictEqual(each, value.fields)) ? '' : JSON.stringify(got)
  }
}

function labelOf({ name, unit, partition }) {
  return {
    name: name ?? undefined,
    unit: unit ?? undefined,
    partition: partition === null ? undefined : Buffer.from(partition, 'hex')
  }
}

/** The decision of a line of a file of fields. */
function decisionOf(stated) {
  const retry = stated.retry_ns === null ? MAX_U64 : BigInt(stated.retry_ns)
  const figures = [stated.limit, stated.remaining, retry, stated.reset_ns, stated.delay_ns, stated.next_ns ?? 0].map(BigInt)
  const words = new BigUint64Array(16)
  const numbers = new Float64Array(words.buffer)
  // All of it exact, as the native part writes what a number does not hold.
  numbers[0] = OUTCOMES.indexOf(stated.outcome) + 16
  for (const [number, figure] of figures.entries()) {
    numbers[1 + number] = number === 2 && stated.retry_ns === null ? Infinity : Number(figure)
    words[10 + number] = figure
  }
  numbers[7] = stated.layer
  return new Decision(numbers, words, 0)
}

function fieldsConstruct(line) {
  try {
    new Writer('draft11').addLayers([], labelOf(line.policy))
  } catch (error) {
    return error.message.split(':')[0] === line.error ? '' : error.message
  }
  return line.error ? `a label of ${JSON.stringify(line.policy)}` : ''
}

/** `judge` of the traces of waiting. */
class Traces {
  line(value) {
    if (!Array.isArray(value)) {
      const p = value.waiting
      const pauses = [p.min_pause_ns, p.max_pause_ns, p.full_pause_ns]
      const numbers = [p.capacity, ...(p.pace ?? [null, null]), p.max_waiting, p.max_total, ...pauses]
      this.waiting = new native.Waiting(numbers.map((number) => big(number) ?? undefined))
      return null
    }
    const [name, now, ...rest] = value
    const next = rest.pop()
    const actions = rest.pop()
    let key = ''
    if (name === 'arrive') [key] = rest.splice(1, 1)
    if (name === 'changed') [key] = rest.splice(0, 1)
    if (name === 'policy') rest.splice(1, 1, ...(rest[1] ?? [null, null]))
    let got
    try {
      const numbers = rest.map((number) => big(number) ?? undefined)
      got = parse(this.waiting.event(name, BigInt(now), Buffer.from(key), numbers))
    } catch (error) {
      return error.message
    }
    return isDeepStrictEqual(got, [actions, next]) ? '' : JSON.stringify(got, (_, v) => (typeof v === 'bigint' ? `${v}` : v))
  }
}

/** `judge` of rules. */
class Ruled {
  line(value) {
    if (!Array.isArray(value)) {
      this.rules = new Rules(value.rules, { maxKeys: MAX_KEYS })
      return null
    }
    const [, now, attributes, ...stated] = value
    const d = this.rules.decide(attributes, { atNs: now })
    if (d.isUnclearPath) return isDeepStrictEqual(stated, ['unclear_path']) ? '' : 'unclear_path'
    const [code, refused, retry, delay, shown, limit, remaining, reset, shadow] = stated
    // An answer has one name: of the rule that refused, otherwise of the one shown.
    const expected = [code, refused ?? shown, big(retry), big(delay), limit, remaining, big(reset), shadow]
    const shadows = d.shadow.map(({ rule, outcome }) => [rule, CODES.indexOf(outcome)])
    const figures = [d.retryAfterNs, d.delayNs, d.limit, d.remaining, d.resetAfterNs]
    const got = [CODES.indexOf(d.outcome), d.rule, ...figures, shadows]
    return isDeepStrictEqual(got, expected) ? '' : got.join(' ')
  }
}

/**
 * `judge` of reservations, permits and changes. What comes back is counted for neighbouring keys together, and the
 * vectors have it for each apart: so each key has a limiter, and a change is made to all of them.
 */
class Held {
  line(value) {
    if (!Array.isArray(value)) {
      const [text, epochS] = [policyText(value.policy), epochOf(value)]
      this.make = () => new Limiter(text, { maxKeys: 1, epochS })
      this.changed = this.make()
      this.changes = []
      this.limiters = new Map()
      this.reservations = new Map()
      return null
    }
    if (value[0] !== 'change') return this.row(value)
    const [, now, policy, stated] = value
    // No text says one layer of several, or none.
    if (policy.algorithm === 'multi' && policy.layers.length < 2) return null
    const text = policyText(policy)
    const all = [this.changed, ...this.limiters.values()]
    const codes = new Set(all.map((limiter) => refusedCode(() => limiter.change(text, { atNs: now }))?.code ?? null))
    if (codes.size !== 1) throw new Error(`limiters of one policy differ: ${[...codes]}`)
    const [code] = codes
    if (code !== (stated.error ?? null)) return String(code)
    if (code !== null) return ''
    this.changes.push([text, now])
    return resolved(this.changed, stated.resolved)
  }

  limiter(key) {
    if (!this.limiters.has(key)) {
      const limiter = this.make()
      for (const [text, now] of this.changes) limiter.change(text, { atNs: now })
      this.limiters.set(key, limiter)
    }
    return this.limiters.get(key)
  }

  row(row) {
    const [call, ...rest] = row
    if (typeof call !== 'string') {
      const [now, key, cost, ...stated] = row
      return differs(this.limiter(key).checkAt(key, cost, now), stated)
    }
    if (call === 'forget') {
      this.limiter(rest[1]).forget(rest[1])
      return ''
    }
    if (call === 'charge') {
      const [now, key, cost, ...stated] = rest
      return differs(this.limiter(key).decide(key, cost, { atNs: now, charge: true }), stated)
    }
    if (call === 'reserve' || call === 'acquire') {
      const [number, now, key, cost, ...stated] = rest
      const limiter = this.limiter(key)
      const reservation = limiter.reserve(key, cost, { atNs: now })
      if (reservation.allowed) this.reservations.set(number, { limiter, data: reservation.bytes })
      return differs(reservation.decision, stated)
    }
    const [number, now, ...stated] = rest
    const { limiter, data } = this.reservations.get(number)
    const reservation = Reservation.fromBytes(limiter, data, { atNs: now })
    if (call === 'settle') return differs(reservation.settle(stated.shift()), stated)
    if (call === 'release') {
      const back = stated.pop()
      const [code, remaining, retry, reset, delay] = stated
      return differs(reservation.release(), [code, remaining, retry, reset, delay, back])
    }
    if (call !== 'renew') throw new Error(`the call is ${call}: expected one of reserve.md, concurrency.md or change.md`)
    const decision = reservation.renew()
    this.reservations.set(number, { limiter, data: reservation.bytes })
    return differs(decision, stated)
  }
}

/** `judge` of the keys of clients. */
class ClientKeys {
  line(value) {
    if (!Array.isArray(value)) {
      if (value.section === undefined) return this.construct(value)
      this.clients = made(value)
      return null
    }
    if (value.length === 4) return this.request(...value)
    const [text, ...keys] = value
    for (const [number, key] of keys.entries()) {
      const got = new Clients({ v6Width: [128, 64][number] }).key(text)
      if (got !== key && !(key === null && ['unix', 'unknown'].includes(got))) return got
    }
    return ''
  }

  /** Empty where a request has its key, however it is given. */
  request(peer, lines, key, end) {
    const found = this.clients.search(peer, lines)
    const rawHeaders = lines.flat()
    const asked = this.clients.ofRequest({ socket: { remoteAddress: peer }, rawHeaders })
    return found.key === key && found.end === end && asked === key ? '' : `${found.key} ${found.end} ${asked}`
  }

  construct(line) {
    try {
      made(line)
    } catch (error) {
      return line.error && error.message.startsWith(`${line.error}: `) ? '' : error.message
    }
    return line.error ? 'clients' : ''
  }
}

function made({ width, trust }) {
  const { field, kind, hops, networks } = trust ?? {}
  return new Clients({ v4Width: width.v4, v6Width: width.v6, field, kind, hops, networks })
}

/** The judge of a kind, and the versions of the vectors that it reads. */
function judgeOf(kind) {
  if (kind === 'fields_construct') return [fieldsConstruct, [3]]
  if (kind.startsWith('fields')) return [new Fields(), [3]]
  if (kind === 'grammar') return [grammar, [3]]
  if (kind === 'waiting') return [new Traces(), [3]]
  if (kind === 'rules_decide') return [new Ruled(), [3]]
  if (kind.startsWith('client_keys')) return [new ClientKeys(), [3]]
  if (HELD.includes(kind) && kind !== 'concurrency_construct') return [new Held(), [2, 3]]
  return [new Decisions(), [1, 2, 3]]
}

class Replay {
  constructor() {
    this.passed = {}
    this.failures = []
  }

  file(path) {
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const { kind, ratecell_vectors: version } = JSON.parse(lines[0])
    const [judge, versions] = judgeOf(kind)
    if (!versions.includes(version)) throw new Error(`${path}: expected vectors of version ${versions}`)
    const name = basename(path)
    this.passed[name] = 0
    for (let number = 1; number < lines.length; number++) {
      const value = parse(lines[number])
      const got = typeof judge === 'function' ? judge(value) : judge.line(value)
      if (got === '') this.passed[name] += 1
      else if (got !== null) this.failures.push(`${name}:${number + 1}: expected ${lines[number]}, got ${got}`)
    }
    judge.end?.()
  }
}

function replay(folder) {
  const done = new Replay()
  const some = (under, names) => names.map((name) => join(under, `${name}.jsonl`))
  const all = (under) => readdirSync(join(folder, under)).filter((file) => file.endsWith('.jsonl')).sort()
  const files = [
    ...all('').map((file) => file),
    ...all('callers').map((file) => join('callers', file)),
    ...some('edges', [...FIELDS, 'waiting', ...CLIENTS]),
    join('rules', 'rules_decide.jsonl'),
    ...some('held', HELD)
  ]
  for (const file of files) done.file(join(folder, file))
  return done
}

function main(folder) {
  const { passed, failures } = replay(folder)
  for (const failure of failures.slice(0, FAILURES_SHOWN)) console.log(failure)
  for (const [name, count] of Object.entries(passed)) console.log(`${name}: ${count} passed`)
  const all = Object.values(passed).reduce((sum, count) => sum + count, 0)
  console.log(`${all} passed, ${failures.length} failed`)
  return all > 0 && failures.length === 0 ? 0 : 1
}

module.exports = { parse, replay }
if (require.main === module) process.exitCode = main(process.argv[2])

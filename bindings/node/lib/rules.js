'use strict'

const { inspect } = require('node:util')
const given = require('./arguments')
const { NEVER, OUTCOMES } = require('./decision')
const { RateLimitExceeded, told } = require('./errors')
const { nowUnixNs, pairs, styleNames } = require('./fields')
const { native } = require('./native')

const TIME = { atNs: given.nanoseconds }
const OPTIONS = {
  path: given.path,
  maxKeys: given.whole,
  whenFull: given.text,
  epochS: given.seconds,
  reserving: given.flag,
  file: given.path,
  follow: given.flag,
  change: given.flag
}

/** The text of a file of rules, or its path. */
function source(text, path) {
  if (text === undefined) {
    if (path === undefined) throw new TypeError('neither text nor path is given: expected one of them')
    return [undefined, path]
  }
  if (path !== undefined) throw new TypeError('text and path are both given: expected one of them')
  if (text instanceof Uint8Array) return [text, undefined]
  const bytes = Buffer.from(given.text(text, 'text'), 'utf8')
  return [bytes, undefined]
}

/** The names and the values of attributes that are present. */
function attributes(known, of = given.keyBytes) {
  if (known === null || typeof known !== 'object') {
    throw given.wrongType('attributes', known, 'object of values by name')
  }
  const names = []
  const values = []
  for (const [name, value] of Object.entries(known)) {
    if (value === undefined || value === null) continue
    names.push(name)
    values.push(of(value, `the attribute ${name}`))
  }
  return [names, values]
}

/** Limits by a file of rules; index.d.ts describes it. */
class Rules {
  constructor(text, options) {
    const isText = typeof text === 'string' || text instanceof Uint8Array
    const { path, ...read } = given.options(isText ? options : text, OPTIONS)
    if (!read.file && (read.follow || read.change)) {
      throw new TypeError('follow, change: expected neither without a file')
    }
    if (read.follow && read.change) throw new TypeError('follow, change: expected one of them, or neither')
    const [bytes, name] = source(isText ? text : undefined, path)
    this._native = told(() => new native.Rules(bytes, name, read))
  }

  decide(known, options) {
    const { atNs } = given.options(options, TIME)
    const [names, values] = attributes(known)
    return new RulesDecision(told(() => this._native.decide(names, values, atNs)))
  }

  reserve(known, options) {
    const { atNs } = given.options(options, TIME)
    const [names, values] = attributes(known)
    const reserved = told(() => this._native.reserve(names, values, atNs))
    return RulesReservation._of(this, new RulesDecision(reserved.decision()), reserved.data(), atNs)
  }

  change(text, options) {
    const isText = typeof text === 'string' || text instanceof Uint8Array
    const { path, atNs } = given.options(isText ? options : text, { path: given.path, ...TIME })
    const [bytes, name] = source(isText ? text : undefined, path)
    told(() => this._native.change(bytes, name, atNs))
  }

  stats(options) {
    return this._native.stats(given.options(options, TIME).atNs)
  }

  get reserving() {
    return this._native.reserving
  }

  get names() {
    return this._native.names
  }

  get epoch() {
    return new Date(this._native.epochMs)
  }

  nowNs() {
    return this._native.nowNs()
  }

  [inspect.custom]() {
    return `<Rules: ${this.names.join(', ')}>`
  }
}

/** The answer of rules to one request. */
class RulesDecision {
  constructor(decided) {
    this._native = decided
    const [limit, remaining, retry, reset, delay] = decided.figures
    this.allowed = decided.allowed
    this.outcome = OUTCOMES[decided.outcome]
    this.rule = decided.rule ?? null
    this.isUnclearPath = decided.isUnclearPath
    this.limit = Number(limit)
    this.remaining = Number(remaining)
    this.retryAfterNs = retry === NEVER ? null : retry
    this.resetAfterNs = reset
    this.delayNs = delay
    this.shadow = pairs(decided.shadow).map(([rule, outcome]) => ({ rule, outcome: OUTCOMES[Number(outcome)] }))
  }

  get retryAfterMs() {
    return this.retryAfterNs === null ? Infinity : Number(this.retryAfterNs) / 1e6
  }

  get resetAfterMs() {
    return Number(this.resetAfterNs) / 1e6
  }

  get delayMs() {
    return Number(this.delayNs) / 1e6
  }

  fields(styles = 'draft11', options = undefined) {
    const { nowUnixNs: now = nowUnixNs() } = given.options(options, { nowUnixNs: given.nanoseconds })
    return pairs(told(() => this._native.fields(styleNames(styles), now)))
  }

  [inspect.custom]() {
    const outcome = this.isUnclearPath ? 'unclear_path' : this.outcome
    const rule = this.rule === null ? '' : `: ${this.rule} limit=${this.limit} remaining=${this.remaining}`
    return `<RulesDecision ${outcome}${rule}>`
  }
}

const made = Symbol('made by rules')

/** What `Rules.reserve` has charged; index.d.ts describes it. */
class RulesReservation {
  constructor(by, rules, decision, data, atNs) {
    if (by !== made) {
      throw new TypeError('a reservation is not made by itself: expected rules.reserve, or RulesReservation.fromBytes')
    }
    this._rules = rules
    this._data = data
    this._settled = false
    this._released = false
    this.decision = decision
    this.atNs = atNs
  }

  static _of(rules, decision, data, atNs) {
    return new RulesReservation(made, rules, decision, data ?? null, atNs)
  }

  static fromBytes(rules, data, options) {
    if (!(rules instanceof Rules)) throw given.wrongType('rules', rules, 'Rules')
    if (!(data instanceof Uint8Array)) throw given.wrongType('data', data, 'Buffer or Uint8Array')
    const { atNs } = given.options(options, TIME)
    // Without attributes nothing is settled, and the bytes are read.
    told(() => rules._native.settle(data, [], [], atNs))
    return RulesReservation._of(rules, null, Buffer.from(data), atNs)
  }

  get allowed() {
    return this._data !== null
  }

  get bytes() {
    return Buffer.from(this._held())
  }

  settle(actual, options) {
    const text = (value, name) => given.keyBytes(typeof value === 'number' ? String(value) : value, name)
    const [names, values] = attributes(actual, text)
    this._settle(names, values, options)
  }

  cancel(options) {
    this._settle(undefined, [], options)
  }

  _settle(names, values, options) {
    const data = this._held()
    const at = given.options(options, TIME).atNs ?? this.atNs
    if (this._settled) throw new Error('the reservation is settled already: expected it once')
    told(() => this._rules._native.settle(data, names, values, at))
    this._settled = true
  }

  release(options) {
    const data = this._held()
    const at = given.options(options, TIME).atNs ?? this.atNs
    if (this._released) throw new Error('the reservation is released already: expected it once')
    const back = told(() => this._rules._native.release(data, at))
    this._released = true
    return back
  }

  end(actual) {
    if (this._data === null) return
    if (!this._settled && actual !== undefined) this.settle(actual)
    if (!this._released) this.release()
  }

  _held() {
    if (this._data === null) throw new RateLimitExceeded(this.decision.rule ?? '', this.decision)
    return this._data
  }
}

if (Symbol.dispose) RulesReservation.prototype[Symbol.dispose] = function () { this.end() }

module.exports = { Rules, RulesDecision, RulesReservation }

'use strict'

// What stands before applications of every framework: the limits, their decision, fields and refusal.

const given = require('./arguments')
const { byRequest } = require('./attributes')
const { clientKey } = require('./clients')
const { Writer, nowUnixNs, styleNames } = require('./fields')
const { decideAll } = require('./joint')
const { Limiter } = require('./limiter')
const { Rules } = require('./rules')

/** Status and text for a time past the range of the policy, and for a fault where `fail` is 'closed'. */
const CANNOT_DECIDE = [503, 'The rate limiter cannot decide']
/** Status and text for a cost above the capacity. */
const LIMIT_NEVER = [413, 'Too large for the rate limit']
/** Status and text for what the rules never allow. */
const RULES_NEVER = [403, 'The rules never allow it']
/** Status and text for a path that the file refuses. */
const UNCLEAR_PATH = [400, 'The path can be read in several ways']

const costOfRequest = (value, name) =>
  typeof value === 'function' ? given.functionOfRequest(value, name) : given.cost(value, name)

const LIMIT = {
  limiter: (value, name) => {
    if (value instanceof Limiter) return value
    throw given.wrongType(name, value, 'Limiter')
  },
  key: given.functionOfRequest,
  cost: costOfRequest,
  label: (value) => value
}

/** A limit as it was given: a limiter alone, or one with its key, cost and label. */
function limitOf(value) {
  const read = value instanceof Limiter ? { limiter: value } : given.options(value, LIMIT, 'parts of a limit')
  if (read.limiter === undefined) throw given.wrongType('limits', value, 'Limiter, limit, array of them, or Rules')
  const { limiter, key = clientKey(), cost = 1, label } = read
  return { limiter, key, cost, label, holds: /\bin_flight\b/.test(limiter.policy) }
}

/** The answer to one request. */
class Answered {
  constructor({ by, decision, never = CANNOT_DECIDE, fields = () => [], held = [] }) {
    this._by = by
    this._never = never
    this._fields = fields
    this._held = held
    this._now = nowUnixNs()
    /** The decision; null of a request that is refused because of a fault. */
    this.decision = decision
  }

  get allowed() {
    return this.decision !== null && this.decision.allowed
  }

  /** Milliseconds to hold the request, if it is allowed. */
  get delayMs() {
    if (!this.allowed) return 0
    const { decisions = [this.decision] } = this.decision
    return Math.max(...decisions.map(({ delayMs }) => delayMs))
  }

  /** Whether the request has permits, to be released when it ends. */
  get holds() {
    return this._held.length > 0
  }

  /** The request has ended: its permits come back, once. */
  release() {
    while (this._held.length > 0) this._held.pop().release()
  }

  /** The fields that tell a client the decision, each a name and its value. */
  fields() {
    return this._fields(this._now)
  }

  /** Status and text of a refusal that is no denial, which would be allowed later; else null. */
  noDenial() {
    if (this.decision === null) return CANNOT_DECIDE
    if (this.decision.isUnclearPath) return UNCLEAR_PATH
    if (this.decision.outcome === 'never') return this._never
    return this.decision.outcome === 'clock_range' ? CANNOT_DECIDE : null
  }

  /** The response to a request that is not allowed. */
  refusal() {
    const fields = this.fields()
    const other = this.noDenial()
    if (other !== null) return { status: other[0], text: other[1], fields }
    const after = fields.find(([name]) => name === 'Retry-After')
    return { status: this._by.status, text: `Too many requests${after ? `: retry after ${after[1]} s` : ''}`, fields }
  }
}

/** Decides requests by one limit or several, which are charged all or none. */
class HttpLimiter {
  constructor(limits, styles, status) {
    this.status = status
    this._joint = Array.isArray(limits)
    this._limits = (this._joint ? limits : [limits]).map(limitOf)
    if (this._limits.length === 0) throw new TypeError('limits is empty: expected one limit or more')
    this._writer = new Writer(styles)
    for (const { limiter, label } of this._limits) this._writer.add(limiter, label)
    // Limits that cannot be are refused here, not at the first request: these are peeks.
    const { decisions } = decideAll(this._limits.map(({ limiter }) => ({ limiter, key: '', cost: 0 })))
    const unzoned = decisions.findIndex(({ withoutZone }) => withoutZone)
    if (unzoned >= 0) {
      throw new TypeError(
        `\`${this._limits[unzoned].limiter.policy}\` asks for a zone, and a middleware names none: expected another policy`
      )
    }
  }

  /** The answer to a request, or a promise of it where a store is to be asked; null if it is not limited. */
  decide(request) {
    const claims = []
    const which = []
    for (const [number, { limiter, key, cost }] of this._limits.entries()) {
      const name = key(request)
      if (name === null || name === undefined) continue
      claims.push({ limiter, key: name, cost: typeof cost === 'function' ? cost(request) : cost, withNext: true })
      which.push(number)
    }
    if (claims.length === 0) return null
    return this._joint ? this._together(claims, which) : this._alone(claims[0], which)
  }

  _alone({ limiter, key, cost }, which) {
    const options = { withNext: true, wait: false }
    if (this._limits[0].holds) {
      const reservation = limiter.reserve(key, cost, { withNext: true })
      return this._answer(reservation.decision, which, reservation.allowed ? [reservation] : [])
    }
    const decision = limiter.decide(key, cost, options)
    if (decision.outcome !== 'asked') return this._answer(decision, which)
    return limiter.decideAsync(key, cost, { withNext: true }).then((later) => this._answer(later, which))
  }

  /** Those that count requests in flight are reserved before the others; where one is refused, they are cancelled. */
  _together(claims, which) {
    const held = new Map()
    const decisions = []
    let refused = null
    let outcome = null
    try {
      for (const [number, { limiter, key, cost }] of claims.entries()) {
        if (!this._limits[which[number]].holds || refused !== null) continue
        const reservation = limiter.reserve(key, cost, { withNext: true })
        decisions[number] = reservation.decision
        if (reservation.allowed) held.set(number, reservation)
        else refused = reservation.decision.outcome
      }
      const rest = [...claims.keys()].filter((number) => decisions[number] === undefined)
      // Where one has refused, the others say what remains.
      const joint = decideAll(rest.map((number) => (refused ? { ...claims[number], cost: 0 } : claims[number])))
      for (const [place, number] of rest.entries()) decisions[number] = joint.decisions[place]
      outcome = refused ?? joint.outcome
    } finally {
      if (outcome !== 'allowed') {
        for (const [number, reservation] of held) {
          reservation.settle(0)
          decisions[number] = reservation.release()
        }
      }
    }
    const decision = { allowed: outcome === 'allowed', outcome, decisions }
    return this._answer(decision, which, decision.allowed ? [...held.values()] : [])
  }

  _answer(decision, which, held = []) {
    const decisions = decision.decisions ?? [decision]
    const fields = (now) => this._writer.write(decisions, which, now)
    return new Answered({ by: this, decision, never: LIMIT_NEVER, fields, held })
  }
}

/** Decides requests by rules. */
class HttpRules {
  constructor(rules, attributes = byRequest(), styles, status) {
    this.status = status
    this._rules = rules
    this._styles = styleNames(styles)
    this._attributes = given.functionOfRequest(attributes, 'attributes')
    // Styles that cannot be are refused here.
    new Writer(styles).write([], [])
  }

  decide(request) {
    const known = this._attributes(request)
    if (known === null || known === undefined) return null
    if (!this._rules.reserving) return this._answer(this._rules.decide(known))
    const reservation = this._rules.reserve(known)
    return this._answer(reservation.decision, reservation.allowed ? [reservation] : [])
  }

  _answer(decision, held = []) {
    const fields = (now) => decision.fields(this._styles, { nowUnixNs: now })
    return new Answered({ by: this, decision, never: RULES_NEVER, fields, held })
  }
}

/** What decides by these limits or rules. */
function decider(limits, attributes, styles, status) {
  if (limits instanceof Rules) return new HttpRules(limits, attributes, styles, status)
  if (attributes !== undefined) {
    throw new TypeError('attributes are given with limits: expected Rules, or no attributes')
  }
  return new HttpLimiter(limits, styles, status)
}

/**
 * The value of a field of a response, where there is one already: lists are joined, and of two Retry-After the greater
 * is kept.
 */
function merged(name, value, present) {
  if (present === undefined || present === null) return value
  if (name.toLowerCase() !== 'retry-after') return [present, value].flat()
  const seconds = (text) => (/^\d+$/.test(text) ? Number(text) : -1)
  return seconds(String(present)) > seconds(value) ? present : value
}

module.exports = { Answered, decider, merged }

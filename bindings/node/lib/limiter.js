'use strict'

const { inspect } = require('node:util')
const given = require('./arguments')
const { Decision, ofPage, ofRecords } = require('./decision')
const { told } = require('./errors')
const { bytes, floats, layout, longs, native, page, words } = require('./native')
const { Reservation } = require('./reservation')
const waiting = require('./waiting')

const { key: KEY } = layout
const FLAGS = layout.flags / 4
const COST = layout.cost / 4
const LENGTH = layout.length / 4
const AT = layout.at / 8
const WITHIN = layout.within / 8
/** Of a longer key the copy costs more than another way of passing it. */
const SHORT = 128

/** Memory for so many records. */
function recordsOf(count) {
  const memory = new ArrayBuffer(count * layout.record)
  return { bytes: new Uint8Array(memory), words: new BigUint64Array(memory), numbers: new Float64Array(memory) }
}

/** The records of a batch of at most so many keys have memory that is kept: to make it costs more than to decide. */
const KEPT = 1024
const kept = recordsOf(KEPT)

const OPTIONS = {
  maxKeys: given.whole,
  whenFull: given.text,
  path: given.path,
  onMiss: given.text,
  waitMs: given.milliseconds,
  onFailure: given.text,
  epochS: given.seconds,
  names: given.flag
}

const zone = (value, name) => {
  if (value instanceof native.Zone) return value
  throw given.wrongType(name, value, 'Zone, which limiter.zone makes')
}

const DECIDE = {
  atNs: given.nanoseconds,
  withinMs: given.milliseconds,
  withinNs: given.nanoseconds,
  charge: given.flag,
  withNext: given.flag,
  wait: given.flag,
  zone
}

/** Writes all of a request but its key to the page. */
function putTerms(cost, options) {
  let flags = 0
  words[COST] = given.cost(cost)
  if (options !== undefined) {
    const { atNs, withinMs, withinNs, charge, withNext, wait } = options
    if (withinMs !== undefined && withinNs !== undefined) {
      throw new TypeError('withinMs and withinNs are both given: expected one of them')
    }
    const within = withinMs === undefined ? withinNs : given.nsOfMs(withinMs)
    if (charge && within !== undefined) {
      throw new TypeError('charge and within are both given: expected one of them, for a charge has no delay')
    }
    if (atNs !== undefined) {
      flags |= layout.flagAt
      longs[AT] = atNs
    }
    if (within !== undefined) {
      flags |= layout.flagWithin
      longs[WITHIN] = within
    }
    if (charge) flags |= layout.flagCharge
    if (withNext) flags |= layout.flagNext
    if (wait === false) flags |= layout.flagHere
  }
  words[FLAGS] = flags
}

/** A limiter; index.d.ts describes it. */
class Limiter {
  constructor(policy, options) {
    if (policy instanceof native.Limiter) {
      this._native = policy
    } else {
      const read = given.options(options, OPTIONS)
      if (policy === undefined && read.path === undefined) {
        throw new TypeError('policy is missing: expected string, or path, of a file that has one')
      }
      const text = policy === undefined || policy === null ? undefined : given.text(policy, 'policy')
      this._native = told(() => new native.Limiter(text, read))
    }
    this._decide = native.decider(this._native, page)
    this._waiters = new Map()
    this._leased = this._native.isLeased
  }

  check(key, cost = 1) {
    if (cost >>> 0 !== cost) given.cost(cost)
    if (typeof key === 'string' && key.length <= SHORT) {
      const length = key.length
      let at = 0
      for (; at < length; at++) {
        const code = key.charCodeAt(at)
        if (code > 127) break
        bytes[KEY + at] = code
      }
      if (at === length) {
        words[FLAGS] = 0
        words[COST] = cost
        words[LENGTH] = length
        this._decide()
        return new Decision(floats, longs, 0)
      }
    }
    return this._decideGeneral(key, cost)
  }

  checkAt(key, cost, nowNs) {
    return this._decideGeneral(key, cost, { atNs: given.nanoseconds(nowNs, 'nowNs') })
  }

  peek(key, options) {
    return this.decide(key, 0, options)
  }

  decide(key, cost = 1, options = undefined) {
    return this._decideGeneral(key, cost, options && given.options(options, DECIDE))
  }

  async decideAsync(key, cost = 1, options = undefined) {
    const read = options && given.options(options, DECIDE)
    if (!this._leased || read?.wait === false) return this._decideGeneral(key, cost, read)
    if (read?.zone) throw new TypeError('zone is given: expected none, for a store has no calendars')
    const name = given.keyBytes(key)
    putTerms(cost, read)
    return ofRecords(await this._native.decideElsewhere(page, name))[0]
  }

  _decideGeneral(key, cost, options) {
    const long = given.putKey(key)
    putTerms(cost, options)
    if (long === null && options?.zone === undefined) {
      this._decide()
    } else {
      const name = long ?? bytes.slice(KEY, KEY + words[LENGTH])
      told(() => this._native.decide(page, name, options?.zone))
    }
    return ofPage()
  }

  decideMany(keys, cost = 1, options = undefined) {
    if (typeof keys === 'string' || typeof keys?.[Symbol.iterator] !== 'function') {
      throw given.wrongType('keys', keys, 'iterable of keys')
    }
    const read = options && given.options(options, DECIDE)
    if (read?.zone) throw new TypeError('zone is given: expected none, for many keys')
    const { joined, ends } = given.joinedKeys(Array.isArray(keys) ? keys : [...keys])
    putTerms(cost, read)
    const records = ends.length <= KEPT ? kept : recordsOf(ends.length)
    this._native.decideMany(page, joined, ends, records.bytes)
    return ofRecords(records.words, records.numbers, ends.length)
  }

  reserve(key, cost = 1, options = undefined) {
    const read = options && given.options(options, DECIDE)
    const name = given.keyBytes(key)
    putTerms(cost, read)
    const data = told(() => native.reserve(this._native, page, name, read?.zone))
    return Reservation._of(this, key, ofPage(), data, read?.atNs)
  }

  acquire(key, cost = 1, options = undefined) {
    return waiting.acquire(this, key, cost, options)
  }

  get waiting() {
    return native.waits(this._native)[0]
  }

  forget(key) {
    const name = given.keyBytes(key)
    const held = this._native.forget(name)
    this._changed(name)
    return held
  }

  change(policy, options) {
    const { atNs } = given.options(options, { atNs: given.nanoseconds })
    told(() => this._native.change(given.text(policy, 'policy'), atNs))
    this._changed()
  }

  /** Units of the key came back, or, without one, the policy was changed: those who wait look again. */
  _changed(name) {
    if (this._waiters.size === 0) return
    native.changed(this._native, name)
    waiting.wake(this)
  }

  withPolicy(policy) {
    return new Limiter(told(() => this._native.withPolicy(given.text(policy, 'policy'))))
  }

  zone(name) {
    return told(() => this._native.zone(given.text(name, 'name')))
  }

  stats(options) {
    const { atNs, exact } = given.options(options, { atNs: given.nanoseconds, exact: given.flag })
    return this._native.stats(atNs, exact ?? false)
  }

  get policy() {
    return this._native.policy
  }

  get capacity() {
    return Number(this._native.capacity)
  }

  get capacityUnits() {
    return this._native.capacity
  }

  get maxNowNs() {
    return this._native.maxNowNs
  }

  get epoch() {
    return new Date(this._native.epochMs)
  }

  nowNs() {
    return this._native.nowNs()
  }

  [inspect.custom]() {
    return `<Limiter ${this.policy}>`
  }
}

module.exports = { Limiter, putTerms, DECIDE }

'use strict'

const { inspect } = require('node:util')
const given = require('./arguments')
const { ofPage } = require('./decision')
const { RateLimitExceeded, told } = require('./errors')
const { native, page } = require('./native')

const TIME = { atNs: given.nanoseconds }
const made = Symbol('made by a limiter')

/** What `Limiter.reserve` has charged; index.d.ts describes it. */
class Reservation {
  constructor(by, limiter, key, decision, data, atNs) {
    if (by !== made) {
      throw new TypeError('a reservation is not made by itself: expected limiter.reserve, or Reservation.fromBytes')
    }
    this._limiter = limiter
    this._data = data
    this._settled = false
    this._released = false
    this.key = key
    this.decision = decision
    this.atNs = atNs
  }

  static _of(limiter, key, decision, data, atNs) {
    return new Reservation(made, limiter, key, decision, data ?? null, atNs)
  }

  static fromBytes(limiter, data, options) {
    const { Limiter } = require('./limiter')
    if (!(limiter instanceof Limiter)) throw given.wrongType('limiter', limiter, 'Limiter')
    if (!(data instanceof Uint8Array)) throw given.wrongType('data', data, 'Buffer or Uint8Array')
    const { atNs } = given.options(options, TIME)
    // What is settled at its whole cost gives back and charges nothing.
    told(() => native.settle(limiter._native, page, data, native.reserved(data), atNs))
    return Reservation._of(limiter, null, ofPage(), Buffer.from(data), atNs)
  }

  get allowed() {
    return this._data !== null
  }

  get cost() {
    return native.reserved(this._held())
  }

  get bytes() {
    return Buffer.from(this._held())
  }

  settle(actual, options) {
    const data = this._held()
    const units = given.cost(actual, 'actual')
    const at = this._at(options)
    if (this._settled) throw new Error('the reservation is settled already: expected it once')
    told(() => native.settle(this._limiter._native, page, data, units, at))
    this._settled = true
    const decision = ofPage()
    if (units < native.reserved(data)) this._back()
    return decision
  }

  release(options) {
    const data = this._held()
    const at = this._at(options)
    if (this._released) throw new Error('the reservation is released already: expected it once')
    told(() => native.release(this._limiter._native, page, data, at))
    this._released = true
    const decision = ofPage()
    if (decision.givenBack > 0) this._back()
    return decision
  }

  renew(options) {
    const data = this._held()
    const at = this._at(options)
    if (this._released) throw new Error('the reservation is released already: expected its renewal before')
    this._data = told(() => native.renew(this._limiter._native, page, data, at))
    return ofPage()
  }

  end(actual) {
    if (this._data === null) return
    if (!this._settled && actual !== undefined) this.settle(actual)
    if (!this._released) this.release()
  }

  /** Units came back: those of this process who wait for the key look again. */
  _back() {
    if (this.key !== null) this._limiter._changed(given.keyBytes(this.key))
  }

  _at(options) {
    return given.options(options, TIME).atNs ?? this.atNs
  }

  _held() {
    if (this._data === null) throw new RateLimitExceeded(this.key, this.decision)
    return this._data
  }

  [inspect.custom]() {
    if (this._data === null) return `<Reservation refused: ${inspect(this.decision)}>`
    const done = [this._settled && 'settled', this._released && 'released'].filter(Boolean).join(' and ')
    return `<Reservation of ${this.cost}: ${done || 'held'}>`
  }
}

if (Symbol.dispose) Reservation.prototype[Symbol.dispose] = function () { this.end() }

module.exports = { Reservation }

'use strict'

// A store for the package express-rate-limit: its windows, exact and in a file that processes share.

const given = require('./lib/arguments')
const { told } = require('./lib/errors')
const { Limiter } = require('./lib/limiter')
const { native, page } = require('./lib/native')

const OPTIONS = { path: given.path, maxKeys: given.whole, whenFull: given.text, prefix: given.text }
/** More hits than any limit: the store counts, and express-rate-limit compares. More would take of the window's time. */
const MOST = 2 ** 24 - 1

/** A store; express-rate-limit.d.ts describes it. */
class RatecellStore {
  constructor(options) {
    const { prefix = '', ...read } = given.options(options, OPTIONS)
    this.prefix = prefix
    this._options = read
    /** Whether the keys are of this process alone. */
    this.localKeys = read.path === undefined
  }

  /** What express-rate-limit calls first, with its own options. */
  init({ windowMs }) {
    given.whole(windowMs, 'windowMs')
    this._limiter = new Limiter(`fixed_window ${MOST}/${windowMs}ms start=first`, this._options)
  }

  get(key) {
    const peek = this._limiter.peek(this._named(key))
    return peek.remaining === peek.limit ? undefined : this._info(peek)
  }

  increment(key) {
    return this._info(this._limiter.check(this._named(key)))
  }

  decrement(key) {
    const hit = this._limiter.reserve(this._named(key))
    if (!hit.allowed) return
    // Its own hit, and one before it.
    hit.settle(0)
    told(() => native.settle(this._limiter._native, page, hit.bytes, 0, undefined))
  }

  resetKey(key) {
    this._limiter.forget(this._named(key))
  }

  _named(key) {
    return this.prefix + key
  }

  _info(decision) {
    return { totalHits: decision.limit - decision.remaining, resetTime: new Date(Date.now() + decision.resetAfterMs) }
  }
}

module.exports = { RatecellStore, default: RatecellStore }

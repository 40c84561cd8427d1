'use strict'

// The gate before an application: it decides requests, counts them, and outlives its own faults.

const given = require('./arguments')
const { Answered, decider } = require('./http')

/** Milliseconds of which one fault is reported: one may come with every request. */
const REPORT_EVERY = 10_000

const oneOf = (...names) => (value, name) => {
  if (names.includes(value)) return value
  throw new RangeError(`${name} is ${JSON.stringify(value)}: expected ${names.map((each) => `'${each}'`).join(' or ')}`)
}

const status = (value, name) => {
  if (Number.isInteger(value) && value >= 400 && value <= 599) return value
  throw new RangeError(`${name} is ${value}: expected a whole number, 400 to 599`)
}

const OPTIONS = {
  attributes: given.functionOfRequest,
  styles: (value) => value,
  status,
  fail: oneOf('open', 'closed'),
  onFault: (value, name) => {
    if (typeof value === 'function') return value
    throw given.wrongType(name, value, 'function of an error')
  }
}

/** Decides the requests before an application. */
class Gate {
  constructor(limits, options) {
    const read = given.options(options, OPTIONS)
    const { attributes, styles = 'draft11', status = 429, fail = 'open', onFault = report } = read
    this._decider = decider(limits, attributes, styles, status)
    this._fail = fail
    this._onFault = onFault
    this._reportedAt = -Infinity
    this._unreported = 0
    this._counts = { allowed: 0, denied: 0, refused: 0, unlimited: 0, failedOpen: 0, failedClosed: 0 }
  }

  /** What became of the requests so far. */
  get counts() {
    return { ...this._counts }
  }

  /** The answer to a request, or a promise of it where a store is to be asked; null if it is not limited. */
  decide(request) {
    try {
      const answered = this._decider.decide(request)
      if (!(answered instanceof Promise)) return this._counted(answered)
      return answered.then((later) => this._counted(later)).catch((fault) => this._failed(fault))
    } catch (fault) {
      return this._failed(fault)
    }
  }

  _counted(answered) {
    if (answered === null) this._counts.unlimited += 1
    else if (answered.allowed) this._counts.allowed += 1
    else if (answered.noDenial() === null) this._counts.denied += 1
    else this._counts.refused += 1
    return answered
  }

  _failed(fault) {
    const open = this._fail === 'open'
    this._counts[open ? 'failedOpen' : 'failedClosed'] += 1
    const now = performance.now()
    if (now - this._reportedAt >= REPORT_EVERY) {
      const others = this._unreported
      this._reportedAt = now
      this._unreported = 0
      const who = open ? 'through' : 'nobody'
      const again = (second) => report(second, { let: who, others: 0 })
      try {
        const told = this._onFault(fault, { let: who, others })
        // One that is async: what it rejects with would end the process.
        if (told instanceof Promise) told.catch(again)
      } catch (second) {
        again(second)
      }
    } else {
      this._unreported += 1
    }
    return open ? null : new Answered({ by: this._decider, decision: null })
  }
}

function report(fault, { let: who, others }) {
  const done = who === 'through' ? 'let through' : 'refused'
  const more = others ? `, and ${others} before it` : ''
  console.error(`ratecell: a request that could not be decided was ${done}${more}:`, fault)
}

/** Releases what a request holds when its response closes. */
function releaseAtEnd(answered, response) {
  if (!answered.holds) return
  // A response that stands behind others of its connection has no socket yet: if that closes before, it never closes.
  const socket = response.socket === null ? response.req?.socket : undefined
  if (response.closed || response.destroyed || socket?.destroyed) {
    answered.release()
    return
  }
  const release = () => {
    behind.get(socket)?.delete(release)
    answered.release()
  }
  response.once('close', release)
  if (socket) releasesOf(socket).add(release)
}

/** By their sockets, what is to be released of responses that stand behind others. */
const behind = new WeakMap()

function releasesOf(socket) {
  let releases = behind.get(socket)
  if (releases === undefined) {
    releases = new Set()
    behind.set(socket, releases)
    // One listener, however many stand there.
    socket.once('close', () => {
      for (const release of releases) release()
    })
  }
  return releases
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

module.exports = { Gate, pause, releaseAtEnd }

'use strict'

// Waiting until a limiter allows. The limiter's line, which is native, says who asks when; here is the sleeping.

const given = require('./arguments')
const { ofPage } = require('./decision')
const { TooManyWaiting, told } = require('./errors')
const { native, page } = require('./native')

/** Milliseconds after which a turn is taken anyway. */
const LONGEST_SLEEP = 86_400_000

const signal = (value, name) => {
  if (value instanceof AbortSignal) return value
  throw given.wrongType(name, value, 'AbortSignal')
}
const OPTIONS = { timeoutMs: given.milliseconds, signal }

/** What `Limiter.acquire` does. */
async function acquire(limiter, key, cost, options) {
  const { timeoutMs, signal } = given.options(options, OPTIONS)
  signal?.throwIfAborted()
  const name = given.keyBytes(key)
  given.cost(cost)
  // The first turn is at the instant of the arrival: a timeout of 0 leaves no other.
  const arrived = limiter.nowNs()
  const deadline = timeoutMs === undefined ? undefined : given.instant(arrived + given.nsOfMs(timeoutMs))
  const id = told(() => native.arrive(limiter._native, name, cost, arrived, deadline))
  let end, stop
  try {
    end = await new Promise((resolve, reject) => {
      let timer
      const take = (now) => {
        clearTimeout(timer)
        let turned
        try {
          turned = native.turn(limiter._native, page, id, name, now)
        } catch (error) {
          reject(error)
          return
        }
        if (turned.end !== undefined) {
          resolve({ outcome: turned.end, decision: ofPage() })
        } else {
          const until = turned.until === undefined ? LONGEST_SLEEP : Math.ceil(Number(turned.until - now) / 1e6)
          timer = setTimeout(() => take(limiter.nowNs()), Math.min(LONGEST_SLEEP, Math.max(0, until)))
        }
        wake(limiter)
      }
      stop = () => {
        clearTimeout(timer)
        native.leave(limiter._native, id, limiter.nowNs())
        reject(signal.reason)
      }
      signal?.addEventListener('abort', stop, { once: true })
      limiter._waiters.set(id, () => take(limiter.nowNs()))
      take(arrived)
    })
  } finally {
    signal?.removeEventListener('abort', stop)
    limiter._waiters.delete(id)
    wake(limiter)
  }
  if (timeoutMs === undefined && !end.decision.allowed) throw refused(key, cost, end)
  return end.decision
}

/** The error of one that has no end that could be answered. */
function refused(key, cost, { outcome, decision }) {
  if (outcome === 'never') {
    return new RangeError(`cost is ${cost}: expected at most the capacity, ${decision.limit}; more is never allowed`)
  }
  if (outcome === 'clock_range') {
    return new RangeError('the clock is past what the policy can tell: expected a policy with a longer horizon')
  }
  return new TooManyWaiting(key)
}

/** Gives their turns to those whose time has come by what happened to others. */
function wake(limiter) {
  for (const id of native.woken(limiter._native)) {
    // Not at once: the caller is in the middle of its own turn.
    queueMicrotask(() => limiter._waiters.get(id)?.())
  }
}

module.exports = { acquire, wake }

'use strict'

// A middleware for Koa.

const { Gate, pause, releaseAtEnd } = require('./lib/gate')
const { merged } = require('./lib/http')

/** A middleware that limits requests; koa.d.ts describes it. */
function rateLimit(limits, options) {
  const gate = new Gate(limits, options)

  const middleware = async (context, next) => {
    const answered = await gate.decide(context)
    if (answered === null) return next()
    context.state.ratecell = answered.decision
    releaseAtEnd(answered, context.res)
    const refusal = answered.allowed ? null : answered.refusal()
    for (const [name, value] of refusal?.fields ?? answered.fields()) {
      context.set(name, merged(name, value, context.response.get(name) || undefined))
    }
    if (refusal !== null) {
      context.status = refusal.status
      context.type = 'text/plain; charset=utf-8'
      context.body = `${refusal.text}\n`
      return undefined
    }
    if (answered.delayMs > 0) await pause(answered.delayMs)
    return next()
  }
  return Object.defineProperty(middleware, 'counts', { get: () => gate.counts })
}

module.exports = { rateLimit }

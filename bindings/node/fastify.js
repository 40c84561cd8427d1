'use strict'

// A hook for Fastify, and a plugin that adds it to all routes.

const { Gate, pause, releaseAtEnd } = require('./lib/gate')
const { merged } = require('./lib/http')

/** An onRequest hook that limits requests; fastify.d.ts describes it. */
function rateLimit(limits, options) {
  const gate = new Gate(limits, options)

  const hook = async (request, reply) => {
    const answered = await gate.decide(request)
    if (answered === null) return
    request.ratecell = answered.decision
    releaseAtEnd(answered, reply.raw)
    const refusal = answered.allowed ? null : answered.refusal()
    for (const [name, value] of refusal?.fields ?? answered.fields()) {
      const all = merged(name, value, reply.getHeader(name))
      reply.removeHeader(name)
      reply.header(name, all)
    }
    if (refusal !== null) {
      await reply.code(refusal.status).type('text/plain; charset=utf-8').send(`${refusal.text}\n`)
    } else if (answered.delayMs > 0) {
      await pause(answered.delayMs)
    }
  }
  return Object.defineProperty(hook, 'counts', { get: () => gate.counts })
}

/** A plugin: `limits`, and the options of `rateLimit`. Its hook is of all routes that are registered after it. */
async function plugin(instance, { limits, ...options }) {
  delete options.prefix
  const hook = rateLimit(limits, options)
  if (!instance.hasRequestDecorator('ratecell')) instance.decorateRequest('ratecell', null)
  instance.addHook('onRequest', hook)
}
// The hook is of the instance that registers it, not of a scope of its own.
plugin[Symbol.for('skip-override')] = true
plugin[Symbol.for('fastify.display-name')] = 'ratecell'

module.exports = plugin
module.exports.plugin = plugin
module.exports.rateLimit = rateLimit
module.exports.default = plugin

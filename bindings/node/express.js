'use strict'

// A middleware for Express, Connect and every other that calls functions of a request, a response and what is next.

const { Gate, pause, releaseAtEnd } = require('./lib/gate')
const { merged } = require('./lib/http')

/** A middleware that limits requests; express.d.ts describes it. */
function rateLimit(limits, options) {
  const gate = new Gate(limits, options)

  const middleware = (request, response, next) => {
    const answered = gate.decide(request)
    if (answered instanceof Promise) answered.then((later) => go(later, request, response, next)).catch(next)
    else go(answered, request, response, next)
  }
  return Object.defineProperty(middleware, 'counts', { get: () => gate.counts })
}

function go(answered, request, response, next) {
  if (answered === null) return next()
  request.ratecell = answered.decision
  releaseAtEnd(answered, response)
  if (!answered.allowed) return refuse(answered.refusal(), response)
  write(answered.fields(), response)
  const { delayMs } = answered
  if (delayMs === 0) next()
  else pause(delayMs).then(() => next())
}

function write(fields, response) {
  for (const [name, value] of fields) response.setHeader(name, merged(name, value, response.getHeader(name)))
}

function refuse({ status, text, fields }, response) {
  write(fields, response)
  response.statusCode = status
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.end(`${text}\n`)
}

module.exports = { rateLimit }

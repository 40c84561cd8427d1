'use strict'

const { getSystemErrorName } = require('node:util')

/** A policy that is refused. `code` is the stable name of what is wrong, `column` where in its text, from 1, or null. */
class PolicyError extends RangeError {
  constructor(message, code, column) {
    super(message)
    this.name = 'PolicyError'
    this.code = code
    this.column = column
  }
}

/** A file of rules that is refused: `code`, and `line`, `rule` (its name, or its number) and `field`, or null. */
class RulesError extends RangeError {
  constructor(message, code, line, rule, field) {
    super(message)
    this.name = 'RulesError'
    this.code = code
    this.line = line
    this.rule = rule
    this.field = field
  }
}

/** A refusal where there is no other way to answer: `key` and `decision`. */
class RateLimitExceeded extends Error {
  constructor(key, decision) {
    const after = decision.retryAfterMs
    const until = Number.isFinite(after) ? `retry after ${after} ms` : 'it can never be allowed'
    super(`the rate limit of ${JSON.stringify(String(key))} is exceeded: ${until}`)
    this.name = 'RateLimitExceeded'
    this.key = key
    this.decision = decision
  }
}

/** So many wait for the key, or for the limiter, that no other may: `key`. */
class TooManyWaiting extends Error {
  constructor(key) {
    super(`too many wait for ${JSON.stringify(String(key))}: expected a timeoutMs, or fewer that wait`)
    this.name = 'TooManyWaiting'
    this.key = key
  }
}

const some = (text) => (text === '' ? null : text)
const count = (text) => (text === '' ? null : Number(text))

/** The error that the parts of a native one mean: src/errors.rs writes them. */
function meant(error) {
  const [kind, ...parts] = String(error?.message).split('\x1f')
  switch (kind) {
    case 'value':
      return new RangeError(parts[0])
    case 'policy':
      return new PolicyError(parts[2], parts[0], count(parts[1]))
    case 'rules': {
      const [code, line, rule, field, text] = parts
      const named = rule.startsWith('=') ? rule.slice(1) : count(rule)
      return new RulesError(text, code, count(line), named, some(field))
    }
    case 'memory':
      return Object.assign(new RangeError(parts[0]), { code: 'ENOMEM' })
    case 'system': {
      const [number, path, text] = parts
      const errno = number === '' ? null : -Number(number)
      const code = errno === null ? 'EINVAL' : getSystemErrorName(errno)
      return Object.assign(new Error(text), { code, errno, path })
    }
    default:
      return error
  }
}

/** What `call` returns; what it throws has its meaning. */
function told(call) {
  try {
    return call()
  } catch (error) {
    const known = meant(error)
    if (known !== error) Error.captureStackTrace?.(known, told)
    throw known
  }
}

module.exports = { PolicyError, RulesError, RateLimitExceeded, TooManyWaiting, told }

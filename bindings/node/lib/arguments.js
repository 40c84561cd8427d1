'use strict'

// Arguments of one value, each with the error that says what was wrong with it.

const { bytes, layout, words } = require('./native')

const MAX_COST = 2 ** 32 - 1
const MAX_U64 = 2n ** 64n - 1n
const ROOM = layout.page - layout.key
const LENGTH = layout.length / 4

/** What a value is, for an error. */
function kind(value) {
  if (value === null) return 'null'
  if (typeof value === 'object') return value.constructor?.name ?? 'object'
  return typeof value
}

function wrongType(name, value, expected) {
  return new TypeError(`${name} is of type ${kind(value)}: expected ${expected}`)
}

/** The bytes of a key: those of a string are its UTF-8. */
function keyBytes(key, name = 'key') {
  if (typeof key === 'string') {
    if (!key.isWellFormed()) {
      throw new RangeError(`${name} has half of a surrogate pair: expected a string that has UTF-8`)
    }
    return Buffer.from(key, 'utf8')
  }
  // What another thread may write meanwhile is copied.
  if (key instanceof Uint8Array) return key.buffer instanceof SharedArrayBuffer ? Uint8Array.from(key) : key
  throw wrongType(name, key, 'string, Buffer or Uint8Array')
}

/** The bytes of keys, one behind the other, and where each ends. */
function joinedKeys(keys) {
  const ends = new Uint32Array(keys.length)
  let joined = Buffer.allocUnsafe(32 * keys.length)
  let end = 0
  for (let number = 0; number < keys.length; number++) {
    const key = keys[number]
    const length = typeof key === 'string' ? key.length : 0
    if (joined.length - end < length) joined = grown(joined, end + length)
    let at = 0
    for (; at < length; at++) {
      const code = key.charCodeAt(at)
      if (code > 127) break
      joined[end + at] = code
    }
    if (at === length && typeof key === 'string') {
      end += length
    } else {
      const given = keyBytes(key, `keys[${number}]`)
      if (joined.length - end < given.length) joined = grown(joined, end + given.length)
      joined.set(given, end)
      end += given.length
    }
    ends[number] = end
  }
  return { joined: joined.subarray(0, end), ends }
}

/** The same bytes with more room. */
function grown(bytes, least) {
  const more = Buffer.allocUnsafe(2 * least)
  more.set(bytes)
  return more
}

/** Puts a key into the page; one that does not fit is returned, as bytes. */
function putKey(key) {
  const given = keyBytes(key)
  if (given.length > ROOM) return given
  bytes.set(given, layout.key)
  words[LENGTH] = given.length
  return null
}

function cost(units, name = 'cost') {
  if (units >>> 0 === units) return units
  if (typeof units !== 'number') throw wrongType(name, units, `number, 0 to ${MAX_COST}`)
  throw new RangeError(`${name} is ${units}: expected a whole number, 0 to ${MAX_COST}`)
}

/** A u64, as bigint. */
function nanoseconds(value, name) {
  if (typeof value === 'bigint') {
    if (value >= 0n && value <= MAX_U64) return value
    throw new RangeError(`${name} is ${value}: expected 0 to ${MAX_U64}`)
  }
  if (typeof value !== 'number') throw wrongType(name, value, `bigint or number, 0 to ${MAX_U64}`)
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw new RangeError(
    `${name} is ${value}: expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, or a bigint`
  )
}

/** The same, where it may be absent. */
const maybeNs = (value, name) => (value === undefined ? undefined : nanoseconds(value, name))

/** The longest time in milliseconds: what a u64 of nanoseconds holds. */
const MAX_MS = Math.floor(2 ** 64 / 1e6) - 1

function milliseconds(value, name) {
  if (typeof value !== 'number') throw wrongType(name, value, 'number of milliseconds')
  if (value >= 0 && value <= MAX_MS) return value
  throw new RangeError(`${name} is ${value}: expected milliseconds from 0 to ${MAX_MS}`)
}

/** Milliseconds as whole nanoseconds. */
const nsOfMs = (ms) => BigInt(Math.round(ms * 1e6))

/** An instant that may be past the last, as the last. */
const instant = (ns) => (ns < MAX_U64 ? ns : MAX_U64)

function whole(value, name, least = 1) {
  if (typeof value !== 'number') throw wrongType(name, value, `number from ${least} on`)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${name} is ${value}: expected a whole number from ${least} on`)
}

/** An instant, in seconds since 1970. */
function seconds(value, name) {
  if (Number.isSafeInteger(value)) return value
  throw wrongType(name, value, 'whole number of seconds since 1970')
}

function text(value, name) {
  if (typeof value === 'string') return value
  throw wrongType(name, value, 'string')
}

function flag(value, name) {
  if (typeof value === 'boolean') return value
  throw wrongType(name, value, 'boolean')
}

/** A path: what Node's own functions take, but for numbers. */
function path(value, name) {
  const given = value instanceof URL ? require('node:url').fileURLToPath(value) : text(value, name)
  const nul = given.indexOf('\0')
  if (nul < 0) return given
  throw new RangeError(`${name} has a NUL after ${nul} characters: expected a path without one`)
}

/** The options that are given, each by the function of its name in `known`. */
function options(given, known, what = 'options') {
  if (given === undefined) return {}
  if (given === null || typeof given !== 'object') throw wrongType(what, given, 'object')
  const read = {}
  for (const [name, value] of Object.entries(given)) {
    const reader = known[name]
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`${name} is none of the ${what}: expected some of ${Object.keys(known).join(', ')}`)
    }
    if (value !== undefined) read[name] = reader(value, name)
  }
  return read
}

/** A function of a request that returns its value at once. */
function functionOfRequest(value, name) {
  if (typeof value !== 'function') throw wrongType(name, value, 'function of the request')
  if (value.constructor?.name === 'AsyncFunction') {
    throw new TypeError(`${name} is an async function: expected one that returns its value at once`)
  }
  return value
}

module.exports = {
  MAX_COST,
  cost,
  flag,
  functionOfRequest,
  instant,
  joinedKeys,
  keyBytes,
  kind,
  maybeNs,
  milliseconds,
  nanoseconds,
  nsOfMs,
  options,
  path,
  putKey,
  seconds,
  text,
  whole,
  wrongType
}

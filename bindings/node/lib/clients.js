'use strict'

// Who a request is counted for: the keys of clients.

const given = require('./arguments')
const { told } = require('./errors')
const { native } = require('./native')

const UNNAMED = /[^\0-\xff]/

/** The bytes of a text of a request: a character is one byte, and a text with others is its UTF-8. */
function latin(value, name) {
  if (value instanceof Uint8Array) return given.keyBytes(value, name)
  if (typeof value !== 'string') throw given.wrongType(name, value, 'string, Buffer or Uint8Array')
  return Buffer.from(value, UNNAMED.test(value) ? 'utf8' : 'latin1')
}

const anyNumber = (code, expected) => (value, name) => {
  if (typeof value !== 'number') throw given.wrongType(name, value, `number, ${expected}`)
  if (value >>> 0 === value) return value
  throw new RangeError(`${code}: ${name} is ${value}: expected ${expected}`)
}

const OPTIONS = {
  field: latin,
  kind: given.text,
  hops: anyNumber('bad_hops', '1 to 16'),
  networks: (value, name) => {
    if (!Array.isArray(value)) throw given.wrongType(name, value, 'array of strings')
    return value.map((network) => latin(network, 'network'))
  },
  v4Width: anyNumber('bad_width', '8 to 32'),
  v6Width: anyNumber('bad_width', '32 to 128')
}

/** Knows the client of a request; index.d.ts describes it. */
class Clients {
  constructor(options) {
    const { field, kind = 'list', hops, networks, v4Width = 32, v6Width = 64 } = given.options(options, OPTIONS)
    this._native = told(() => new native.Clients(field, kind, hops, networks, v4Width, v6Width))
    this.field = field === undefined ? null : Buffer.from(field).toString('latin1')
    this._name = this.field?.toLowerCase()
    this.ofRequest = this.ofRequest.bind(this)
  }

  search(peer, lines = []) {
    const values = []
    if (this.field !== null) {
      for (const [name, value] of lines) {
        if (Buffer.from(latin(name, 'name')).toString('latin1').toLowerCase() === this._name) {
          values.push(latin(value, 'value'))
        }
      }
    }
    const [key, end] = this._native.search(latin(peer, 'peer'), values)
    return { key, end }
  }

  key(peer, lines) {
    return this.search(peer, lines).key
  }

  ofRequest(request) {
    const message = messageOf(request)
    const { socket, rawHeaders } = message
    const peer = socket?.remoteAddress ?? (socket?.destroyed ? GONE : '')
    return this.key(peer, this.field === null ? [] : lines(rawHeaders))
  }
}

/** The peer of a connection that has ended, whose address nobody knows any more: it is no Unix socket. */
const GONE = '?'

/** The lines of a header, each a name and its value, from Node's list of both in turns. */
function* lines(rawHeaders) {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at], rawHeaders[at + 1]]
}

/** Node's own request, of one that a framework has made of it. */
function messageOf(request) {
  for (const message of [request, request?.raw, request?.req]) {
    if (message?.socket !== undefined && Array.isArray(message.rawHeaders)) return message
  }
  throw given.wrongType('request', request, "a request of node:http, or an object with one as `raw` or `req`")
}

/** A function of a request that returns the key of its client. */
const clientKey = (options) => new Clients(options).ofRequest

/** A function of a request that returns the value of a field, named; where it is absent, the key of `otherwise`. */
function header(name, otherwise = clientKey()) {
  const field = given.text(name, 'name').toLowerCase()
  given.functionOfRequest(otherwise, 'otherwise')
  return (request) => {
    const values = []
    for (const [each, value] of lines(messageOf(request).rawHeaders)) {
      if (each.toLowerCase() === field) values.push(value)
    }
    const value = values.join(',')
    // Named, so that no value can pass for an address.
    return value ? `${name}=${value}` : otherwise(request)
  }
}

module.exports = { Clients, clientKey, header, latin, lines, messageOf }

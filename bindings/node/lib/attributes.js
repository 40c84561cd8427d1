'use strict'

// What rules know of a request.

const given = require('./arguments')
const { Clients, latin, lines, messageOf } = require('./clients')

const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/

/** The path of a request's target as it was sent, still encoded; of an absolute one, what follows the authority. */
function path(target) {
  if (target.startsWith('/') || target === '*') return target
  const authority = ABSOLUTE.exec(target)
  if (authority === null) return undefined
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** A function of a request that returns its method, path, host, client and header, for rules. */
function byRequest(client = new Clients({ v6Width: 128 }).ofRequest) {
  given.functionOfRequest(client, 'client')
  return (request) => {
    const message = messageOf(request)
    const known = {}
    for (const [name, value] of lines(message.rawHeaders)) {
      const attribute = `header:${name.toLowerCase()}`
      known[attribute] = known[attribute] === undefined ? value : `${known[attribute]}, ${value}`
      if (attribute === 'header:host') known.host ??= latin(value, 'host')
    }
    for (const [name, value] of Object.entries(known)) known[name] = latin(value, name)
    known.method = message.method.toUpperCase()
    // Where a framework has taken its prefix off, what it was stands beside.
    const sent = path(message.originalUrl ?? message.url)
    if (sent !== undefined) known.path = latin(sent, 'path')
    const key = client(request)
    if (key) known.client = key
    return known
  }
}

module.exports = { byRequest }

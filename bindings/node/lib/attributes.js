'use strict'

// What rules know of a request.

const given = require('./arguments')
const { Clients, latin, lines, messageOf } = require('./clients')

const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/

/** The host that the target of a request names itself: in an absolute one, and by HTTP/2. */
function authority(message, target) {
  const absolute = ABSOLUTE.exec(target)
  return absolute === null ? message.headers?.[':authority'] : absolute[0].slice(absolute[0].indexOf('//') + 2)
}

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
    // Where a framework has taken its prefix off, what it was stands beside.
    const target = message.originalUrl ?? message.url
    const named = authority(message, target)
    if (named) known.host = latin(named, 'host')
    for (const [name, value] of lines(message.rawHeaders)) {
      const attribute = `header:${name.toLowerCase()}`
      known[attribute] = known[attribute] === undefined ? value : `${known[attribute]}, ${value}`
      if (attribute === 'header:host') known.host ??= latin(value, 'host')
    }
    for (const [name, value] of Object.entries(known)) known[name] = latin(value, name)
    if (known.host !== undefined) known['header:host'] = known.host
    known.method = message.method.toUpperCase()
    const sent = path(target)
    if (sent !== undefined) known.path = latin(sent, 'path')
    const key = client(request)
    if (key) known.client = key
    return known
  }
}

module.exports = { byRequest }

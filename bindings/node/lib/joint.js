'use strict'

const given = require('./arguments')
const { OUTCOMES, ofRecords } = require('./decision')
const { told } = require('./errors')
const { Limiter, putTerms, DECIDE } = require('./limiter')
const { native, page } = require('./native')

const limiter = (value, name) => {
  if (value instanceof Limiter) return value
  throw given.wrongType(name, value, 'Limiter')
}
const CLAIM = { ...DECIDE, limiter, key: (key) => key, cost: given.cost }
delete CLAIM.zone

/** Decides requests to several limiters as one: all are charged, or none. */
function decideAll(claims) {
  if (typeof claims?.[Symbol.iterator] !== 'function') throw given.wrongType('claims', claims, 'iterable of claims')
  const joint = new native.Joint()
  for (const claim of claims) {
    const { limiter, key, cost = 1, ...terms } = given.options(claim, CLAIM, 'parts of a claim')
    if (limiter === undefined) throw new TypeError('limiter is missing: expected one in each claim')
    const name = given.keyBytes(key)
    putTerms(cost, terms)
    joint.add(limiter._native, page, name)
  }
  const { outcome, records } = told(() => joint.decide())
  return { allowed: outcome === 0, outcome: OUTCOMES[outcome], decisions: ofRecords(records) }
}

module.exports = { decideAll }

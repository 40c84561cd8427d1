'use strict'

const { Clients, clientKey, header } = require('./lib/clients')
const { Decision } = require('./lib/decision')
const { PolicyError, RateLimitExceeded, RulesError, TooManyWaiting } = require('./lib/errors')
const { byRequest } = require('./lib/attributes')
const { decideAll } = require('./lib/joint')
const { fields } = require('./lib/fields')
const { Limiter } = require('./lib/limiter')
const { Reservation } = require('./lib/reservation')
const { Rules, RulesDecision, RulesReservation } = require('./lib/rules')

module.exports = {
  Clients,
  Decision,
  Limiter,
  PolicyError,
  RateLimitExceeded,
  Reservation,
  Rules,
  RulesDecision,
  RulesError,
  RulesReservation,
  TooManyWaiting,
  byRequest,
  clientKey,
  decideAll,
  fields,
  header
}

'use strict'

const assert = require('node:assert/strict')
const { test } = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const { Limiter, RateLimitExceeded, Reservation, Rules, RulesError, RulesReservation, TooManyWaiting } = require('ratecell')

test('what was not used is given back', () => {
  const tokens = new Limiter('90000/m')
  const reservation = tokens.reserve('org:7', 4000, { atNs: 0 })
  assert.deepEqual([reservation.allowed, reservation.cost], [true, 4000])
  assert.equal(reservation.settle(1000).remaining, 89000)
  assert.throws(() => reservation.settle(1000), /settled already/)
  assert.throws(() => tokens.reserve('x', 1).settle(-1), /actual is -1/)
})

test('a permit comes back once', () => {
  const jobs = new Limiter('in_flight 2 hold=60s')
  const [first, second, third] = [1, 2, 3].map(() => jobs.reserve('ann'))
  assert.deepEqual([first.allowed, second.allowed, third.allowed], [true, true, false])
  assert.throws(() => third.release(), RateLimitExceeded)
  third.end()
  assert.equal(first.renew().allowed, true)
  second.end()
  second.end()
  const elsewhere = Reservation.fromBytes(jobs, first.bytes)
  assert.equal(elsewhere.release().givenBack, 1)
  assert.equal(first.release().givenBack, 0)
  assert.throws(() => first.release(), /released already/)
  assert.equal(jobs.peek('ann').remaining, 2)
  assert.throws(() => Reservation.fromBytes(jobs, Buffer.from('x')), RangeError)
  assert.throws(() => new Reservation(), /not made by itself/)
})

test('those who wait go in the order in which they came', async () => {
  const limiter = new Limiter('200/s burst=1')
  const done = []
  await Promise.all([...Array(8).keys()].map((number) => limiter.acquire('k').then(() => done.push(number))))
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6, 7])
  assert.equal(limiter.waiting, 0)
})

test('a timeout that cannot be met is denied at once, and what can never be is an error', async () => {
  const limiter = new Limiter('1/h')
  assert.equal((await limiter.acquire('k', 1, { timeoutMs: 0 })).allowed, true)
  const denied = await limiter.acquire('k', 1, { timeoutMs: 1000 })
  assert.equal(denied.outcome, 'denied')
  assert.ok(denied.retryAfterMs > 3_000_000)
  assert.equal((await limiter.acquire('k', 2, { timeoutMs: 1 })).outcome, 'never')
  await assert.rejects(limiter.acquire('k', 2), /cost is 2: expected at most the capacity, 1/)
  await assert.rejects(limiter.acquire('k', 1, { timeoutMs: -1 }), /timeoutMs is -1/)
  // The longest is past the last instant of the clock.
  const soon = { timeoutMs: 18_446_744_073_707, signal: AbortSignal.timeout(20) }
  await assert.rejects(limiter.acquire('k', 1, soon), { name: 'TimeoutError' })
  await assert.rejects(limiter.acquire('k', 1, { signal: 1 }), /signal is of type number: expected AbortSignal/)
  assert.equal(typeof TooManyWaiting, 'function')
})

test('an aborted wait has taken nothing, and a release wakes who waits', async () => {
  const limiter = new Limiter('in_flight 1 hold=60s')
  const held = limiter.reserve('k')
  const controller = new AbortController()
  const aborted = limiter.acquire('k', 1, { signal: controller.signal })
  const served = limiter.acquire('k')
  await sleep(5)
  assert.equal(limiter.waiting, 2)
  controller.abort(new Error('gone'))
  await assert.rejects(aborted, /gone/)
  held.release()
  assert.equal((await served).allowed, true)
  assert.equal(limiter.waiting, 0)
})

test('a raised limit lets those go who wait', async () => {
  const limiter = new Limiter('1/h')
  limiter.check('k')
  const waiting = limiter.acquire('k')
  await sleep(5)
  limiter.change('100000/s burst=10')
  assert.equal((await waiting).allowed, true)
})

const TEXT = `ratecell_rules = 1

[[rule]]
name = "site"
key = []
limit = "100/s"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "2/m"
`
const LOGIN = { method: 'POST', path: '/login', client: '203.0.113.7' }

test('rules limit requests by their attributes', () => {
  const rules = new Rules(TEXT)
  assert.deepEqual([1, 2, 3].map(() => rules.decide(LOGIN, { atNs: 0 }).allowed), [true, true, false])
  const refused = rules.decide({ ...LOGIN, unknown: null }, { atNs: 0 })
  assert.deepEqual([refused.rule, refused.retryAfterMs, refused.outcome], ['login', 30000, 'denied'])
  assert.deepEqual(refused.fields(), [
    ['RateLimit-Policy', '"site";q=100;w=1, "login";q=2;w=60'],
    ['RateLimit', '"site";r=98;t=1, "login";r=0;t=30'],
    ['Retry-After', '30']
  ])
  assert.throws(() => rules.change(TEXT.replace('2/m', '0/m')), (error) => {
    const { code, line, rule, field } = error
    assert.deepEqual([error instanceof RulesError, code, line, rule, field], [true, 'bad_policy', 13, 'login', 'limit'])
    return true
  })
  rules.change(TEXT.replace('2/m', '5/m'), { atNs: 0 })
  assert.equal(rules.decide(LOGIN, { atNs: 0 }).remaining, 2)
  assert.deepEqual(rules.names, ['site', 'login'])
  assert.throws(() => rules.decide({ path: 5 }), /the attribute path is of type number/)
  assert.throws(() => rules.decide(null), /attributes is of type null/)
})

test('rules that are refused say where, and a file that is not there which', () => {
  assert.throws(() => new Rules({ path: '/nonexistent.toml' }), (error) => error.code === 'ENOENT')
  assert.throws(() => new Rules({}), /neither text nor path is given/)
  assert.throws(() => new Rules(TEXT, { follow: true }), /expected neither without a file/)
})

test('rules reserve, settle and release', () => {
  const text = `ratecell_rules = 1
attributes = ["tokens"]
[[rule]]
name = "tokens"
key = ["client"]
limit = "1000/m"
cost = { from = "tokens", max = 1000, default = 1000 }
[[rule]]
name = "jobs"
key = ["client"]
limit = "in_flight 1 hold=60s"
`
  let rules
  try {
    rules = new Rules(text, { reserving: true })
  } catch (error) {
    assert.fail(error.message)
  }
  const known = { client: 'a', tokens: '400' }
  assert.throws(() => rules.decide(known), /expected reserve/)
  const held = rules.reserve(known, { atNs: 0 })
  assert.equal(held.allowed, true)
  assert.equal(rules.reserve(known, { atNs: 0 }).decision.rule, 'jobs')
  held.settle({ tokens: 100 })
  assert.equal(RulesReservation.fromBytes(rules, held.bytes, { atNs: 0 }).release(), 1)
  const next = rules.reserve({ client: 'a', tokens: '900' }, { atNs: 0 })
  assert.equal(next.allowed, true)
  next.end({ tokens: 0 })
})

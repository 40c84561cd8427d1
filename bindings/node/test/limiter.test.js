'use strict'

const assert = require('node:assert/strict')
const { test } = require('node:test')
const { inspect } = require('node:util')

const { Limiter, PolicyError, decideAll, fields } = require('ratecell')
const { load } = require('../lib/native')

test('a check answers, and a denial is an answer', () => {
  const limiter = new Limiter('3/s burst=3', { maxKeys: 1000 })
  const first = limiter.checkAt('k', 1, 0)
  assert.deepEqual([first.allowed, first.outcome, first.limit, first.remaining], [true, 'allowed', 3, 2])
  assert.equal(limiter.checkAt('k', 2, 0).remaining, 0)
  const denied = limiter.checkAt('k', 1, 0n)
  assert.deepEqual([denied.allowed, denied.outcome, denied.retryAfterNs], [false, 'denied', 333333334n])
  assert.equal(denied.retryAfterMs, 333.333334)
  assert.equal(limiter.checkAt('k', 1, denied.retryAfterNs - 1n).allowed, false)
  assert.equal(limiter.checkAt('k', 1, denied.retryAfterNs).allowed, true)
  const never = limiter.check('k', 4)
  assert.deepEqual([never.outcome, never.retryAfterMs, never.retryAfterNs], ['never', Infinity, null])
  assert.equal(JSON.parse(JSON.stringify(never)).retryAfterMs, null)
  assert.match(inspect(first), /^<Decision allowed: limit=3 remaining=2 /)
})

test('a key is its bytes, however long and however given', () => {
  const limiter = new Limiter('1/h')
  for (const key of ['', 'k', 'ä', '€', 'x'.repeat(128), 'x'.repeat(129), 'ä'.repeat(430), 'y'.repeat(5000), '😀']) {
    assert.equal(limiter.check(key).allowed, true, key)
    assert.equal(limiter.check(Buffer.from(key)).allowed, false, key)
    assert.equal(limiter.decide(new Uint8Array(Buffer.from(key)), 1).allowed, false, key)
    assert.deepEqual(limiter.decideMany([key]).map((decision) => decision.allowed), [false])
    assert.equal(limiter.forget(key), true)
    assert.equal(limiter.peek(key).allowed, true)
    assert.equal(limiter.peek(key).remaining, 1)
  }
})

test('a key may be in memory that threads share', () => {
  const limiter = new Limiter('1/h')
  const shared = new Uint8Array(new SharedArrayBuffer(3))
  shared.set(Buffer.from('abc'))
  assert.equal(limiter.check(shared).allowed, true)
  assert.equal(limiter.check('abc').allowed, false)
  assert.equal(limiter.forget(shared), true)
})

test('the decisions of many keys are kept, however many there are', () => {
  const limiter = new Limiter('5000/h')
  for (const count of [0, 1, 31, 32, 33, 1023, 1024, 1025, 2500]) {
    const keys = Array.from({ length: count }, () => `of ${count}`)
    const first = limiter.decideMany(keys, 1, { atNs: 0 })
    const later = limiter.decideMany(keys, 0, { atNs: 0 })
    assert.deepEqual(first.map(({ remaining }) => remaining), keys.map((_, number) => 4999 - number))
    assert.deepEqual(later.map(({ remaining }) => remaining), keys.map(() => 5000 - count))
  }
  const slow = new Limiter('1/20000h')
  const retries = slow.decideMany(['k', 'k'], 1, { atNs: 1 }).map(({ retryAfterNs }) => retryAfterNs)
  slow.decideMany(['x', 'x'])
  assert.deepEqual(retries, [0n, 20_000n * 3600n * 10n ** 9n])
})

test('tables that nobody has any more are collected', async () => {
  const before = process.memoryUsage.rss()
  for (let number = 0; number < 60; number++) {
    // 26 MB each, of which V8 sees nothing but what it is told.
    assert.equal(new Limiter('1/h', { maxKeys: 1_000_000 }).check('k').allowed, true)
    await new Promise(setImmediate)
  }
  const grown = process.memoryUsage.rss() - before
  assert.ok(grown < 800_000_000, `${grown} bytes more`)
})

test('figures above 2^53 stay exact', () => {
  const limiter = new Limiter('1/s burst=1')
  const now = 2n ** 60n + 1n
  limiter.checkAt('k', 1, now)
  assert.equal(limiter.checkAt('k', 1, now).retryAfterNs, 1_000_000_000n)
  const slow = new Limiter('1/20000h')
  slow.checkAt('k', 1, 1)
  const denied = slow.checkAt('k', 1, 2)
  assert.equal(denied.retryAfterNs, 20_000n * 3600n * 10n ** 9n - 1n)
  assert.equal(denied.retryAfterNs > BigInt(Number.MAX_SAFE_INTEGER), true)
})

test('decide has what a check has not', () => {
  const queue = new Limiter('leaky_queue 10/s queue=5')
  assert.equal(queue.decide('k', 1, { atNs: 0, withinMs: 0 }).delayMs, 0)
  assert.equal(queue.decide('k', 1, { atNs: 0, withinNs: 0n }).retryAfterMs, 100)
  assert.equal(queue.decide('k', 1, { atNs: 0 }).delayMs, 100)
  const limiter = new Limiter('3/s burst=3')
  assert.equal(limiter.decide('k', 2, { atNs: 0, charge: true }).remaining, 1)
  assert.equal(limiter.decide('k', 0, { atNs: 0, withNext: true }).nextAfterNs, 333333334n)
  assert.equal(limiter.decide('k', 0, { atNs: 0 }).nextAfterMs, null)
  const many = limiter.decideMany(['a', 'b', 'a', 'a', 'a'], 1, { atNs: 0 })
  assert.deepEqual(many.map(({ allowed }) => allowed), [true, true, true, true, false])
  assert.deepEqual(limiter.decideMany(new Set()), [])
})

test('a decision stays what it was', () => {
  const limiter = new Limiter('3/h burst=3')
  const first = limiter.checkAt('k', 1, 0)
  limiter.checkAt('k', 1, 0)
  assert.equal(first.remaining, 2)
})

test('claims to several limiters are charged all or none', () => {
  const person = new Limiter('2/m')
  const team = new Limiter('1/m')
  const claims = [{ limiter: person, key: 'ann', atNs: 0 }, { limiter: team, key: 'red', atNs: 0 }]
  assert.equal(decideAll(claims).allowed, true)
  const refused = decideAll(claims)
  assert.deepEqual([refused.allowed, refused.outcome], [false, 'denied'])
  assert.deepEqual(refused.decisions.map(({ outcome }) => outcome), ['allowed', 'denied'])
  assert.equal(person.peek('ann', { atNs: 0 }).remaining, 1)
  assert.throws(() => decideAll([{ limiter: person, key: 'k', zone: 1 }]), /zone is none of the parts of a claim/)
  assert.throws(() => decideAll([{ key: 'k' }]), /limiter is missing/)
  assert.throws(() => decideAll(Array(65).fill(claims[0])), /have 65 layers: expected at most 64/)
})

test('a policy changes, and what was used stays used', () => {
  const limiter = new Limiter('10/h')
  limiter.checkAt('k', 10, 0)
  limiter.change('12/h', { atNs: 0 })
  assert.equal(limiter.policy, '12/h')
  assert.equal(limiter.peek('k', { atNs: 0 }).remaining, 2)
  assert.throws(() => limiter.change('fixed_window 1/s'), (error) => error.code === 'different_table')
  assert.equal(limiter.withPolicy('12/h burst=20').capacity, 20)
})

test('zones decide where the policy asks for one', () => {
  const limiter = new Limiter('calendar_window 2/day tz=caller', { epochS: 0 })
  const zone = limiter.zone('Asia/Tokyo')
  assert.equal(zone.name, 'Asia/Tokyo')
  assert.equal(limiter.decide('k', 1, { atNs: 0, zone }).allowed, true)
  assert.equal(limiter.check('k').withoutZone, true)
  assert.throws(() => new Limiter('1/s').decide('k', 1, { zone }), /takes none: expected a policy with tz=caller/)
  assert.throws(() => limiter.zone('Asia/Nowhere'), PolicyError)
})

test('stats say what it holds', () => {
  const limiter = new Limiter('10/h', { maxKeys: 100 })
  limiter.decideMany(['a', 'b'])
  const { live, slots, bytes } = limiter.stats({ exact: true })
  assert.equal(live, 2)
  assert.ok(slots >= 100 && bytes > 0)
  assert.equal(limiter.epoch instanceof Date, true)
  assert.equal(typeof limiter.nowNs(), 'bigint')
})

test('fields are written for one limiter and for several', () => {
  const limiter = new Limiter('2/m')
  limiter.checkAt('k', 2, 0)
  const decision = limiter.checkAt('k', 1, 0)
  assert.deepEqual(fields({ limiter, decision, label: { name: 'api' } }, ['draft11', 'x']), [
    ['RateLimit-Policy', '"api";q=2;w=60'],
    ['RateLimit', '"api";r=0;t=30'],
    ['X-RateLimit-Limit', '2'],
    ['X-RateLimit-Remaining', '0'],
    ['X-RateLimit-Reset', '60'],
    ['Retry-After', '30']
  ])
  const unix = fields({ limiter, decision }, 'x_unix', { nowUnixNs: 1000n * 10n ** 9n })
  assert.equal(new Map(unix).get('X-RateLimit-Reset'), '1060')
  const layers = new Limiter('10/s & 3/m')
  const second = layers.check('k')
  assert.throws(() => fields({ limiter, decision: second }), /names layer 1 of 1/)
  assert.throws(() => fields({ limiter, decision }, 'draft12'), /no style is called "draft12": expected draft11, /)
  assert.throws(() => fields({ limiter, decision }, []), /styles is empty/)
  assert.throws(() => fields({ limiter, decision, label: { name: 'ä' } }), /bad_name/)
})

const limiter = new Limiter('10/s')
const BAD = [
  [() => new Limiter('2 a day'), PolicyError, /syntax at column 3.*expected LIMIT\/PERIOD/],
  [() => new Limiter(), TypeError, /policy is missing: expected string, or path/],
  [() => new Limiter(5), TypeError, /policy is of type number: expected string/],
  [() => new Limiter('1/s', { maxKeys: 0 }), RangeError, /maxKeys is 0: expected a whole number from 1 on/],
  [() => new Limiter('1/s', { maxkeys: 1 }), TypeError, /maxkeys is none of the options: expected some of maxKeys/],
  [() => new Limiter('1/s', { whenFull: 'drop' }), RangeError, /whenFull is 'drop': expected 'evict'/],
  [() => new Limiter('1/s', { path: 'a\0b' }), RangeError, /path has a NUL after 1 characters/],
  [() => new Limiter('1/s', { maxKeys: 2 ** 52 }), RangeError, /./],
  [() => limiter.check(5), TypeError, /key is of type number: expected string, Buffer or Uint8Array/],
  [() => limiter.check('\ud800'), RangeError, /half of a surrogate pair/],
  [() => limiter.check('k', -1), RangeError, /cost is -1: expected a whole number, 0 to 4294967295/],
  [() => limiter.check('k', 1.5), RangeError, /cost is 1.5/],
  [() => limiter.check('k', 2 ** 32), RangeError, /cost is 4294967296/],
  [() => limiter.check('k', '1'), TypeError, /cost is of type string: expected number/],
  [() => limiter.checkAt('k', 1, -1), RangeError, /nowNs is -1/],
  [() => limiter.checkAt('k', 1, 2n ** 64n), RangeError, /nowNs is 18446744073709551616: expected 0 to/],
  [() => limiter.checkAt('k', 1, 2 ** 53), RangeError, /or a bigint/],
  [() => limiter.decide('k', 1, { withinMs: 1, withinNs: 1 }), TypeError, /both given/],
  [() => limiter.decide('k', 1, { charge: true, withinMs: 1 }), TypeError, /a charge has no delay/],
  [() => limiter.decide('k', 1, { charge: 1 }), TypeError, /charge is of type number: expected boolean/],
  [() => limiter.decide('k', 1, { zone: 'UTC' }), TypeError, /zone is of type string: expected Zone/],
  [() => limiter.decideMany('keys'), TypeError, /keys is of type string: expected iterable/],
  [() => limiter.decideMany(['a', 5]), TypeError, /keys\[1\] is of type number/],
  [() => limiter.change('1 a day'), PolicyError, /./]
]
for (const [number, [call, kind, text]] of BAD.entries()) {
  test(`bad input ${number} is an error that says what was expected: ${text}`, () => {
    assert.throws(call, (error) => error instanceof kind && text.test(error.message))
  })
}

test('a file that cannot be used is the error of the system', () => {
  assert.throws(() => new Limiter('1/s', { path: '/nonexistent/limits' }), (error) => {
    assert.equal(error.code, 'ENOENT')
    assert.equal(error.path, '/nonexistent/limits')
    return true
  })
})

test('a platform without a library is told which there are', () => {
  assert.throws(() => load('plan9-mips'), /no library for plan9-mips: expected one of .*linux-.*npm run build/)
})

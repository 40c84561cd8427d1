// A program that uses the types as an ES module; `@ts-expect-error` lines are errors that they find.
import http from 'node:http'
import { Clients, Decision, Limiter, PolicyError, Reservation, Rules, byRequest, clientKey, decideAll, fields, header } from 'ratecell'
import { rateLimit } from 'ratecell/express'
import limited from 'ratecell/fastify'
import { rateLimit as forKoa } from 'ratecell/koa'
import { RatecellStore } from 'ratecell/express-rate-limit'

const limiter = new Limiter('10/s', { maxKeys: 1000, whenFull: 'deny' })
const decision: Decision = limiter.check('k')
const wait: number = decision.retryAfterMs
const exact: bigint | null = decision.retryAfterNs
limiter.decide(Buffer.from('k'), 2, { withinMs: wait, atNs: exact ?? 0n, withNext: true })
const allowed: boolean[] = limiter.decideMany(['a', new Uint8Array(3)]).map((each) => each.allowed)
const reservation: Reservation = limiter.reserve('k')
reservation.end(0)
const acquired: Decision = await limiter.acquire('k', 1, { timeoutMs: 5, signal: AbortSignal.timeout(5) })
const joint: boolean = decideAll([{ limiter, key: 'k', cost: 2 }]).allowed
const pairs: [string, string][] = fields({ limiter, decision, label: { unit: 'requests' } }, ['draft11', 'x'])
const rules = new Rules({ path: 'limits.toml', reserving: true })
rules.change('text')
const rule: string | null = rules.decide({ path: '/', client: null }).rule
const middleware = rateLimit({ limiter, key: header('x-api-key'), cost: (request) => Number(request.headers['x-cost']) })
http.createServer((request, response) => middleware(request, response, () => response.end()))
const denied: number = middleware.counts.denied
rateLimit(rules, { attributes: byRequest(clientKey()), styles: 'github', fail: 'closed' })
rateLimit([limiter, { limiter, key: () => null }])
limited.rateLimit(limiter)
forKoa(limiter)
const store: { totalHits: number } = new RatecellStore({ path: '/dev/shm/x' }).increment('k')
const key: string = new Clients({ field: 'Forwarded', kind: 'forwarded', networks: ['10.0.0.0/8'] }).key('127.0.0.1')
try {
  new Limiter('x')
} catch (error) {
  if (error instanceof PolicyError) console.log(error.code, error.column)
}
console.log(allowed, acquired, joint, pairs, rule, denied, store, key)

// @ts-expect-error a key is text or bytes
limiter.check(5)
// @ts-expect-error a style that is none
fields({ limiter, decision }, 'draft12')
// @ts-expect-error an option that is none
new Limiter('1/s', { max_keys: 5 })
// @ts-expect-error a key function that returns later
rateLimit({ limiter, key: async () => 'k' })
// @ts-expect-error rules need text or a path
new Rules()

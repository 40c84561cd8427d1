'use strict'

// Middlewares before real servers, with real clients.

const assert = require('node:assert/strict')
const { once } = require('node:events')
const http = require('node:http')
const http2 = require('node:http2')
const net = require('node:net')
const { test } = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const express = require('express')
const { rateLimit: erl } = require('express-rate-limit')
const fastify = require('fastify')
const Koa = require('koa')

const { Limiter, Rules, byRequest, clientKey, header } = require('ratecell')
const { rateLimit: forExpress } = require('ratecell/express')
const forFastify = require('ratecell/fastify')
const { rateLimit: forKoa } = require('ratecell/koa')
const { RatecellStore } = require('ratecell/express-rate-limit')

/** Each framework as a function that serves `handler` behind limits: what has the counts, and where it listens. */
const FRAMEWORKS = {
  async connect(limits, options, handler) {
    const middleware = forExpress(limits, options)
    const server = http.createServer((request, response) =>
      middleware(request, response, () => handler(request).then((text) => response.end(text)))
    )
    return listening(server.listen(0, '127.0.0.1'), middleware)
  },
  async express(limits, options, handler) {
    const middleware = forExpress(limits, options)
    const app = express()
    app.use(middleware)
    app.use((request, response) => handler(request).then((text) => response.send(text)))
    return listening(app.listen(0, '127.0.0.1'), middleware)
  },
  async koa(limits, options, handler) {
    const middleware = forKoa(limits, options)
    const app = new Koa()
    app.use(middleware)
    app.use(async (context) => {
      context.body = await handler({ ...context.state, ratecell: context.state.ratecell })
    })
    return listening(app.listen(0, '127.0.0.1'), middleware)
  },
  async fastify(limits, options, handler) {
    const middleware = forFastify.rateLimit(limits, options)
    const app = fastify()
    app.decorateRequest('ratecell', null)
    app.all('/*', { onRequest: middleware }, (request) => handler(request))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return listening(app.server, middleware, () => app.close())
  }
}

async function listening(server, middleware, close = () => new Promise((resolve) => server.close(resolve))) {
  if (!server.listening) await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}`
  const stop = () => {
    server.closeAllConnections()
    return close()
  }
  return { url, middleware, stop }
}

const served = async () => 'served'

test('an async onFault that rejects does not end the process', async () => {
  const told = new Promise((resolve) => {
    const { error } = console
    console.error = (text, fault) => {
      console.error = error
      resolve([text, fault.message])
    }
  })
  const onFault = async () => {
    throw new Error('no log today')
  }
  const middleware = forExpress({ limiter: new Limiter('1/h'), key: () => 5 }, { onFault })
  middleware({}, {}, () => {})
  assert.deepEqual(await told, ['ratecell: a request that could not be decided was let through:', 'no log today'])
})

test('the host is that of the target, where it names one', async () => {
  const attributes = byRequest()
  const hosts = []
  const seen = (request, response) => {
    const { host, path, 'header:host': field } = attributes(request)
    hosts.push([String(host), String(field), String(path)])
    response.end()
  }
  const one = http.createServer(seen).listen(0, '127.0.0.1')
  const two = http2.createServer(seen).listen(0, '127.0.0.1')
  await Promise.all([once(one, 'listening'), once(two, 'listening')])
  const { port } = one.address()
  for (const path of ['/a', 'http://example.com/a']) {
    const asked = http.get({ port, path, host: '127.0.0.1', headers: { Host: 'b' } })
    const [response] = await once(asked, 'response')
    response.resume()
  }
  const session = http2.connect(`http://127.0.0.1:${two.address().port}`)
  const stream = session.request({ ':path': '/a', ':authority': 'example.com' })
  await once(stream.resume(), 'close')
  session.close()
  one.close()
  two.close()
  const named = ['example.com', 'example.com', '/a']
  assert.deepEqual(hosts, [['b', 'b', '/a'], named, named])
})

for (const [name, serve] of Object.entries(FRAMEWORKS)) {
  test(`${name}: a limit, its fields and its refusal`, async () => {
    const limiter = new Limiter('2/h')
    const decisions = []
    const { url, middleware, stop } = await serve({ limiter, label: { name: 'api' } }, {}, async (request) => {
      decisions.push(request.ratecell)
      return 'served'
    })
    try {
      const answers = [await fetch(url), await fetch(url), await fetch(url)]
      assert.deepEqual(answers.map(({ status }) => status), [200, 200, 429])
      assert.equal(await answers[0].text(), 'served')
      assert.equal(answers[0].headers.get('ratelimit-policy'), '"api";q=2;w=3600')
      assert.match(answers[0].headers.get('ratelimit'), /^"api";r=1;t=\d+$/)
      const after = answers[2].headers.get('retry-after')
      assert.ok(after > 1700 && after <= 1800)
      assert.equal(await answers[2].text(), `Too many requests: retry after ${after} s\n`)
      assert.match(answers[2].headers.get('content-type'), /^text\/plain/)
      assert.deepEqual(decisions.map(({ remaining }) => remaining), [1, 0])
      const counts = { allowed: 2, denied: 1, refused: 0, unlimited: 0, failedOpen: 0, failedClosed: 0 }
      assert.deepEqual(middleware.counts, counts)
    } finally {
      await stop()
    }
  })

  test(`${name}: several limits, costs, keys, and what is not limited`, async () => {
    const all = new Limiter('100/h')
    const each = new Limiter('10/h')
    const key = header('x-api-key', () => null)
    const { url, middleware, stop } = await serve(
      [{ limiter: all, key: () => 'all' }, { limiter: each, key, cost: () => 6 }],
      { styles: ['draft11', 'x'], status: 430 },
      served
    )
    try {
      const headers = { 'X-Api-Key': 'pro' }
      const answers = [await fetch(url, { headers }), await fetch(url, { headers }), await fetch(url)]
      assert.deepEqual(answers.map(({ status }) => status), [200, 430, 200])
      assert.match(answers[0].headers.get('ratelimit'), /^"100\/h";r=99;t=\d+, "10\/h";r=4;t=\d+$/)
      assert.equal(answers[1].headers.get('x-ratelimit-remaining'), '4')
      assert.equal(all.peek('all').remaining, 98)
      assert.equal(each.peek('x-api-key=pro').remaining, 4)
      assert.equal(middleware.counts.denied, 1)
    } finally {
      await stop()
    }
  })

  test(`${name}: what can never be allowed is 413, and what has no key is not limited`, async () => {
    const limiter = new Limiter('2/h')
    const never = await serve({ limiter, cost: 3 }, {}, served)
    const unlimited = await serve({ limiter, key: () => null }, {}, served)
    try {
      assert.equal((await fetch(never.url)).status, 413)
      assert.equal(never.middleware.counts.refused, 1)
      assert.equal((await fetch(unlimited.url)).headers.get('ratelimit'), null)
      assert.equal(unlimited.middleware.counts.unlimited, 1)
    } finally {
      await never.stop()
      await unlimited.stop()
    }
  })

  test(`${name}: its own fault lets a request through, or refuses it, and is counted`, async () => {
    const limiter = new Limiter('2/h')
    const faults = []
    const onFault = (fault, what) => faults.push([fault.message, what.let])
    const key = () => {
      throw new Error('no key today')
    }
    const open = await serve({ limiter, key }, { onFault }, served)
    const closed = await serve({ limiter, key: () => 5 }, { fail: 'closed', onFault }, served)
    try {
      assert.deepEqual([(await fetch(open.url)).status, (await fetch(open.url)).status], [200, 200])
      assert.equal(open.middleware.counts.failedOpen, 2)
      const refused = await fetch(closed.url)
      assert.equal(refused.status, 503)
      assert.equal(await refused.text(), 'The rate limiter cannot decide\n')
      assert.equal(closed.middleware.counts.failedClosed, 1)
      // One of those that come within 10 s is told.
      assert.deepEqual(faults.map(([, who]) => who), ['through', 'nobody'])
      assert.match(faults[1][0], /key is of type number/)
    } finally {
      await open.stop()
      await closed.stop()
    }
  })

  test(`${name}: a request in flight is released when its response closes`, async () => {
    const limiter = new Limiter('in_flight 1 hold=60s')
    let finish
    const { url, stop } = await serve({ limiter, key: () => 'all' }, {}, () => new Promise((resolve) => (finish = resolve)))
    try {
      const first = fetch(url)
      while (finish === undefined) await sleep(1)
      assert.equal((await fetch(url)).status, 429)
      finish('served')
      assert.equal(await (await first).text(), 'served')
      while (limiter.peek('all').remaining === 0) await sleep(1)
      // One whose client goes.
      finish = undefined
      const controller = new AbortController()
      const gone = fetch(url, { signal: controller.signal })
      while (finish === undefined) await sleep(1)
      assert.equal(limiter.peek('all').remaining, 0)
      controller.abort()
      await assert.rejects(gone)
      while (limiter.peek('all').remaining === 0) await sleep(1)
      finish('nobody')
    } finally {
      await stop()
    }
  })

  test(`${name}: what stands behind others of a connection that ends is released`, async () => {
    const limiter = new Limiter('in_flight 12 hold=600s')
    let finish = () => {}
    const ended = new Promise((resolve) => (finish = resolve))
    const { url, stop } = await serve({ limiter, key: () => 'all' }, {}, () => ended)
    try {
      const connection = net.connect(new URL(url).port, '127.0.0.1')
      // One answers them in turn, and so the responses of all but the first have no socket yet.
      connection.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(12))
      while (limiter.peek('all').remaining > 0) await sleep(1)
      connection.destroy()
      const from = performance.now()
      while (limiter.peek('all').remaining < 12 && performance.now() - from < 5000) await sleep(1)
      assert.equal(limiter.peek('all').remaining, 12)
    } finally {
      finish('nobody')
      await stop()
    }
  })

  test(`${name}: rules, which know the path, the client and the header`, async () => {
    const rules = new Rules(`ratecell_rules = 1
attributes = ["tier"]
[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "1/h"
[[rule]]
name = "banned"
match."header:x-banned" = "yes"
key = []
limit = "blocked"
`)
    const request = byRequest(clientKey({ field: 'X-Forwarded-For', hops: 1, v6Width: 128 }))
    const attributes = (of) => ({ ...request(of), tier: 'free' })
    const { url, stop } = await serve(rules, { attributes }, served)
    try {
      const login = (client) => fetch(`${url}/login?next=/`, { method: 'POST', headers: { 'X-Forwarded-For': client } })
      assert.equal((await login('203.0.113.7')).status, 200)
      const refused = await login('203.0.113.7')
      assert.equal(refused.status, 429)
      assert.match(refused.headers.get('ratelimit'), /^"login";r=0;t=\d+$/)
      assert.equal((await login('203.0.113.8')).status, 200)
      assert.equal((await fetch(`${url}/login`)).status, 200)
      assert.equal((await fetch(url, { headers: { 'X-Banned': 'yes' } })).status, 403)
    } finally {
      await stop()
    }
  })

  test(`${name}: a queue holds a request as long as its delay`, async () => {
    const limiter = new Limiter('leaky_queue 50/s queue=5')
    const { url, stop } = await serve({ limiter, key: () => 'all' }, {}, served)
    try {
      const answers = await Promise.all(Array.from({ length: 3 }, () => fetch(url)))
      assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200])
      // Both delays have passed: the queue is empty again, or nearly.
      assert.ok(limiter.peek('all').remaining >= 4)
    } finally {
      await stop()
    }
  })
}

for (const [name, rateLimit] of Object.entries({ express: forExpress, koa: forKoa, fastify: forFastify.rateLimit })) {
  test(`${name}: what is wrong is told at start`, () => {
    const limiter = new Limiter('2/h')
    assert.throws(() => rateLimit({ limiter, key: 'ip' }), /key is of type string: expected function of the request/)
    assert.throws(() => rateLimit({ limiter, key: async () => 'k' }), /key is an async function/)
    assert.throws(() => rateLimit({ limiter, cost: -1 }), /cost is -1/)
    assert.throws(() => rateLimit({ limiter, keys: () => 'k' }), /keys is none of the parts of a limit/)
    assert.throws(() => rateLimit([]), /limits is empty/)
    assert.throws(() => rateLimit({}), /expected Limiter, limit, array of them, or Rules/)
    assert.throws(() => rateLimit('2/h'), /parts of a limit is of type string: expected object/)
    assert.throws(() => rateLimit(limiter, { styles: 'draft12' }), /no style is called/)
    assert.throws(() => rateLimit(limiter, { status: 200 }), /status is 200: expected a whole number, 400 to 599/)
    assert.throws(() => rateLimit(limiter, { fail: 'shut' }), /fail is "shut": expected 'open' or 'closed'/)
    assert.throws(() => rateLimit(limiter, { attributes: () => ({}) }), /expected Rules, or no attributes/)
    assert.throws(() => rateLimit(new Limiter('calendar_window 1/day tz=caller')), /a middleware names none/)
  })
}

test('fastify: the plugin limits all routes', async () => {
  const app = fastify()
  await app.register(forFastify, { limits: new Limiter('1/h') })
  app.get('/', (request) => `${request.ratecell.remaining}`)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  try {
    const first = await fetch(url)
    assert.deepEqual([first.status, await first.text()], [200, '0'])
    assert.equal((await fetch(url)).status, 429)
  } finally {
    await app.close()
  }
})

test('two middlewares add to one field, and keep the later Retry-After', async () => {
  const app = express()
  app.use(forExpress({ limiter: new Limiter('9/m'), label: { name: 'a' } }))
  app.use(forExpress({ limiter: new Limiter('1/m'), label: { name: 'b' } }))
  app.use((request, response) => response.send('served'))
  const { url, stop } = await listening(app.listen(0, '127.0.0.1'))
  try {
    const answer = await fetch(url)
    assert.equal(answer.headers.get('ratelimit-policy'), '"a";q=9;w=60, "b";q=1;w=60')
  } finally {
    await stop()
  }
})

test('the client is the peer, and behind a proxy who the proxy says', () => {
  const request = (remoteAddress, rawHeaders = []) => ({ socket: { remoteAddress }, rawHeaders })
  const key = clientKey()
  assert.equal(key(request('::ffff:203.0.113.7')), '203.0.113.7')
  assert.equal(key(request('2001:db8:1:2::3')), '2001:db8:1:2::/64')
  assert.equal(key(request(undefined)), 'unix')
  assert.equal(key({ socket: { destroyed: true }, rawHeaders: [] }), 'unknown')
  assert.equal(key({ raw: request('203.0.113.7') }), '203.0.113.7')
  const behind = clientKey({ field: 'X-Forwarded-For', hops: 1 })
  assert.equal(behind(request('10.0.0.9', ['X-FORWARDED-FOR', '6.6.6.6, 203.0.113.7'])), '203.0.113.7')
  assert.throws(() => key({}), /expected a request of node:http/)
  assert.throws(() => clientKey({ hops: 99, field: 'X' }), /bad_hops/)
  assert.throws(() => clientKey({ field: 'X' }), RangeError)
  assert.throws(() => header('x', 'y'), /otherwise is of type string/)
})

test('a store for express-rate-limit counts its windows', async () => {
  const app = express()
  const store = new RatecellStore({ prefix: 'api:' })
  app.use(erl({ windowMs: 60_000, limit: 2, store, standardHeaders: 'draft-8', skipFailedRequests: true }))
  app.use((request, response) => response.status(request.url === '/bad' ? 500 : 200).send('served'))
  const { url, stop } = await listening(app.listen(0, '127.0.0.1'))
  try {
    // A failed request is not counted.
    assert.equal((await fetch(`${url}/bad`)).status, 500)
    const statuses = []
    for (let number = 0; number < 3; number++) statuses.push((await fetch(url)).status)
    assert.deepEqual(statuses, [200, 200, 429])
  } finally {
    await stop()
  }
})

test('the store does what its interface says', () => {
  const store = new RatecellStore()
  store.init({ windowMs: 60_000 })
  assert.equal(store.get('k'), undefined)
  assert.equal(store.increment('k').totalHits, 1)
  const second = store.increment('k')
  assert.equal(second.totalHits, 2)
  const left = second.resetTime - Date.now()
  assert.ok(left > 50_000 && left <= 60_001)
  store.decrement('k')
  assert.equal(store.get('k').totalHits, 1)
  store.decrement('k')
  store.decrement('k')
  assert.equal(store.increment('k').totalHits, 1)
  store.resetKey('k')
  assert.equal(store.get('k'), undefined)
  assert.equal(store.localKeys, true)
  assert.throws(() => new RatecellStore({ file: 'x' }), /file is none of the options/)
})

import { request } from 'node:http'
import t, { type Test } from 'tap'
import type { MetricsConfig } from '../../../src/config/types.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { listenMetrics } from '../../../src/telemetry/metrics/listener.js'
import { FakeClock } from '../../support/fake-clock.js'

type Pages = Parameters<typeof listenMetrics>[1]

const broken: Pages = () => Promise.reject(new Error('no pages'))

const listen = async (t: Test, more: Partial<MetricsConfig> = {}, pages: Pages = broken) => {
  const config: MetricsConfig = {
    tools: 'counters',
    series: 1000,
    listen: { host: '127.0.0.1', port: 0 },
    token: undefined,
    ...more,
  }
  const clock = new FakeClock()
  const endpoint = await listenMetrics(config, pages, silentLogger, clock)
  if (endpoint === undefined) throw new Error('nobody listens')
  t.teardown(() => endpoint.close())
  const get = (headers: Record<string, string> = {}, path = '/metrics', method = 'GET') =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = endpoint
      request({ host: '127.0.0.1', port, path, method, headers }, response => {
        response.resume()
        resolve(response.statusCode)
      })
        .once('error', reject)
        .end()
    })
  return { endpoint, get, clock }
}

t.test('metrics have an address of their own, which no web page reaches by another name', async t => {
  const { endpoint, get } = await listen(t)
  t.equal(await get({ host: 'rebound.example' }), 403)
  t.equal(await get({}, '/other'), 404)
  t.equal(await get({}, '/metrics', 'DELETE'), 405)
  t.equal(await get(), 500, 'pages that cannot be made are an error of ours')
  const taken = { host: '127.0.0.1', port: endpoint.port }
  await t.rejects(listen(t, { listen: taken }), {
    code: 'unavailable',
    message: `metrics.listen: cannot listen on 127.0.0.1 port ${endpoint.port} (EADDRINUSE)`,
  })
})

t.test('metrics for other machines require a token', async t => {
  await t.rejects(listen(t, { listen: { host: '0.0.0.0', port: 0 } }), { code: 'invalid-params' })
  const { get } = await listen(t, { token: 'a-secret-of-metrics' })
  t.equal(await get(), 401)
  t.equal(await get({ authorization: 'Bearer a-secret-of-others' }), 401)
  t.equal(await get({ authorization: 'Bearer a-secret-of-metrics', host: 'any.example' }), 500)
})

t.test('guessing the token is throttled', async t => {
  const { get, clock } = await listen(t, { token: 'a-secret-of-metrics' })
  const statuses = []
  for (let at = 0; at < 100; at += 1) statuses.push(await get({ authorization: `Bearer guess-${at}` }))
  t.ok(statuses.filter(status => status === 429).length > 60)
  t.equal(await get({ authorization: 'Bearer a-secret-of-metrics' }), 429)
  clock.advance(1000)
  t.equal(await get({ authorization: 'Bearer a-secret-of-metrics' }), 500, 'it is not locked out')
})

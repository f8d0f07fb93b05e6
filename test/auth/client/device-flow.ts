import t from 'tap'
import { beginDeviceLogin } from '../../../src/auth/client/device-flow.js'
import { FakeClock } from '../../support/fake-clock.js'

const A = 'https://a.test'
const discovery = {
  resource: 'https://s.test/mcp',
  scopes: undefined,
  server: { issuer: A, token_endpoint: `${A}/token`, device_authorization_endpoint: `${A}/device` },
  by: 'metadata',
} as const
const client = { id: 'c', by: 'registration' } as const

const setUp = (device: object, ...answers: readonly object[]) => {
  const clock = new FakeClock()
  const asked: { readonly atMs: number; readonly form: Readonly<Record<string, string>> }[] = []
  const left = [...answers]
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    if (request.url === `${A}/device`) return Response.json(device)
    asked.push({ atMs: clock.nowMs(), form: Object.fromEntries(new URLSearchParams(await request.text())) })
    const body = left.shift() ?? {}
    return Response.json(body, { status: 'error' in body ? 400 : 200 })
  }
  const context = { fetch, nowMs: () => 0, clock }
  return {
    clock,
    asked,
    begin: () => beginDeviceLogin(context, { discovery, client, settings: {}, scopes: ['a'] }),
  }
}

const DEVICE = { device_code: 'd', user_code: 'AB-CD', verification_uri: 'https://a.test/go', interval: 5 }

t.test('a device asks at the interval, and slower when it is told to', async t => {
  const tokens = { access_token: 'x', token_type: 'Bearer' }
  const pending = { error: 'authorization_pending' }
  const { clock, asked, begin } = setUp(DEVICE, pending, { error: 'slow_down' }, pending, tokens)
  const login = await begin()
  t.match(login, { userCode: 'AB-CD', url: 'https://a.test/go' })
  const startMs = clock.nowMs()
  let isOver = false
  const answer = login.poll().finally(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise(setImmediate)
    clock.advance(1000)
  }
  t.match(await answer, { is: 'tokens', tokens: { access: 'x', scopes: ['a'] } })
  const gaps = asked.map(({ atMs }, index) => atMs - (asked[index - 1]?.atMs ?? startMs))
  t.ok(
    [5000, 5000, 10_000, 10_000].every((leastMs, index) => (gaps[index] ?? 0) >= leastMs),
    gaps.join(),
  )
  t.match(asked[0]?.form, { device_code: 'd', client_id: 'c', resource: 'https://s.test/mcp' })
})

t.test('a device login that is refused or not completed ends', async t => {
  const { begin } = setUp({ ...DEVICE, verification_uri: 'javascript:alert(1)' })
  await t.rejects(begin(), { code: 'unauthorized', message: /did not start the login/ })
  const { clock, begin: again } = setUp(DEVICE, { error: 'access_denied' })
  const answer = (await again()).poll()
  await new Promise(setImmediate)
  clock.advance(5000)
  t.match(await answer, { is: 'refused', error: 'access_denied' })
})

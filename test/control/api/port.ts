import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { PageSessions, pageCookie } from '../../../src/control/api/page-sessions.js'
import { answerPort, type PortEntry } from '../../../src/control/api/port.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { ownCommand } from '../../../src/kernel/machine/own-command.js'
import { pageHeaders } from '../../support/proxy/page-login.js'

/** The API as somebody meets it who comes from wherever `entry` says. */
const serve = async (t: Test, entry: Partial<PortEntry>) => {
  const sessions = new PageSessions(() => Buffer.alloc(32, 1))
  const server = createServer((request, response) => {
    void answerPort(request, response, {
      ...{ isFromHere: () => false, hasToken: undefined, ...entry },
      ...{ sessions: () => sessions, publicUrl: undefined, basePath: '' },
      api: async () => ({ answer: async ({ path }) => ({ status: 200, value: { path } }) }),
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = (path: string, options: RequestInit = {}) => {
    const headers = { 'x-mcp-proxy': '1', origin, ...(options.headers as Record<string, string>) }
    return fetch(`${origin}/api/v1/${path}`, { ...options, headers })
  }
  return { ask, sessions, origin }
}

const credential = (sessions: PageSessions, origin: string) => {
  const { cookie = '', secret = '' } = sessions.redeem(sessions.newCode()) ?? {}
  return { cookie: `${pageCookie(new URL(origin))}=${cookie}`, 'x-mcp-proxy-secret': secret }
}

t.test('off loopback, no request is allowed without auth, with any credential', async t => {
  const { ask, sessions, origin } = await serve(t, {})
  const headers = credential(sessions, origin)
  for (const path of ['status', 'events', 'logs', 'config', 'nothing'])
    t.equal((await ask(path, { headers })).status, 403, path)
  const body = JSON.stringify({ code: sessions.newCode() })
  for (const path of ['login', 'call', 'reload', 'servers/a/restart'])
    t.equal((await ask(path, { method: 'POST', body, headers })).status, 403, path)
})

t.test('with auth a token lets in from anywhere, and so does a code', async t => {
  const { ask, sessions } = await serve(t, {
    hasToken: async ({ headers }) => (headers.authorization === 'Bearer good' ? LOCAL : undefined),
  })
  t.equal((await ask('status')).status, 401)
  t.equal((await ask('status', { headers: { authorization: 'Bearer bad' } })).status, 401)
  t.equal((await ask('status', { headers: { authorization: 'Bearer good' } })).status, 200)
  const body = JSON.stringify({ code: sessions.newCode() })
  const login = await ask('login', { method: 'POST', body })
  const { command } = (await login.clone().json()) as { readonly command: string }
  t.equal(command, ownCommand(), 'the page learns the command that starts this program')
  t.equal((await ask('status', { headers: await pageHeaders(login) })).status, 200)
})

t.test('a cookie of another proxy, or an expired one, is refused', async t => {
  const { ask, origin } = await serve(t, { isFromHere: () => true })
  const twelveHours = 12 * 60 * 60_000
  const old = new PageSessions(
    () => Buffer.alloc(32, 1),
    () => Date.now() - twelveHours - 1000,
  )
  const other = new PageSessions(() => Buffer.alloc(32, 2))
  for (const sessions of [old, other]) {
    const headers = credential(sessions, origin)
    t.equal((await ask('status', { headers })).status, 401)
  }
})

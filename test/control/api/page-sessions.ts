import t from 'tap'
import { PageSessions, setCookie } from '../../../src/control/api/page-sessions.js'

const KEY = new Uint8Array(32).fill(7)

const setUp = () => {
  const time = { ms: 1_000_000 }
  const sessions = new PageSessions(
    () => KEY,
    () => time.ms,
  )
  return { time, sessions }
}

t.test('a code is good for a minute', async t => {
  const { time, sessions } = setUp()
  const code = sessions.newCode()
  time.ms += 60_001
  t.equal(sessions.redeem(code), undefined)
})

t.test('of many codes the oldest are forgotten', async t => {
  const { sessions } = setUp()
  const codes = Array.from({ length: 17 }, () => sessions.newCode())
  t.equal(sessions.redeem(codes[0] ?? ''), undefined)
  t.ok(sessions.redeem(codes[1] ?? ''))
})

t.test('a session lasts twelve hours, also over a restart, and cannot be forged', async t => {
  const { time, sessions } = setUp()
  const { cookie = '', secret = '' } = sessions.redeem(sessions.newCode()) ?? {}
  const later = new PageSessions(
    () => KEY,
    () => time.ms,
  )
  t.ok(later.isOpen({ cookie, secret }))
  t.notOk(sessions.isOpen({ cookie }), 'the cookie alone')
  t.notOk(sessions.isOpen({ secret }), 'the secret alone')
  t.notOk(sessions.isOpen({ cookie, secret: cookie }), 'the cookie twice')
  t.notOk(sessions.isOpen({ cookie: secret, secret: cookie }), 'one in place of the other')
  const [until = '', signature = ''] = cookie.split('.')
  t.notOk(sessions.isOpen({ cookie: `${Number(until) + 1}.${signature}`, secret }))
  t.notOk(sessions.isOpen({ cookie: '', secret }))
  const other = new PageSessions(
    () => new Uint8Array(32),
    () => time.ms,
  )
  t.notOk(other.isOpen({ cookie, secret }))
  time.ms += 12 * 3_600_000
  t.notOk(sessions.isOpen({ cookie, secret }))
})

t.test('a tab keeps its session when another one replaces the cookie', async t => {
  const { time, sessions } = setUp()
  const first = sessions.redeem(sessions.newCode())
  time.ms += 60_000
  const second = sessions.redeem(sessions.newCode())
  t.ok(sessions.isOpen({ cookie: second?.cookie, secret: first?.secret }))
  time.ms += 12 * 3_600_000 - 60_000
  t.notOk(sessions.isOpen({ cookie: second?.cookie, secret: first?.secret }), 'until that ends')
  t.ok(sessions.isOpen({ ...second }))
})

t.test('the cookie has the port in its name, and with TLS belongs to one host', async t => {
  t.match(setCookie('x', new URL('http://127.0.0.1:8808')), /^mcp-proxy-8808-page=x; HttpOnly;.*\d$/)
  t.match(setCookie('x', new URL('https://p.test')), /^__Host-mcp-proxy-page=x; .*; Path=\/;.*; Secure$/)
})

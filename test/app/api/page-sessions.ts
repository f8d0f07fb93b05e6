import t from 'tap'
import { PageSessions, setCookie } from '../../../src/app/api/page-sessions.js'

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
  const value = sessions.redeem(sessions.newCode()) ?? ''
  const later = new PageSessions(
    () => KEY,
    () => time.ms,
  )
  t.ok(later.isOpen(`other=1; mcp_proxy=${value}`))
  const [until = '', signature = ''] = value.split('.')
  t.notOk(sessions.isOpen(`mcp_proxy=${Number(until) + 1}.${signature}`))
  t.notOk(sessions.isOpen('mcp_proxy='))
  t.notOk(sessions.isOpen(undefined))
  t.notOk(
    new PageSessions(
      () => new Uint8Array(32),
      () => time.ms,
    ).isOpen(`mcp_proxy=${value}`),
  )
  time.ms += 12 * 3_600_000
  t.notOk(sessions.isOpen(`mcp_proxy=${value}`))
  t.match(setCookie('x', true), /; Secure$/)
})

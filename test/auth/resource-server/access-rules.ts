import t from 'tap'
import { accessOf } from '../../../src/auth/resource-server/access-rules.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { callerWith } from '../../support/client/fake-client.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const CONFIG = {
  see: ['github'],
  call: [
    ['delete_*', ['github:admin']],
    ['*_repo', ['github:write', 'github:admin']],
    ['exact.name', ['other']],
  ],
} as const
const access = accessOf(CONFIG, silentLogger)

const bob = (...scopes: readonly string[]) => callerWith('person bob', scopes)

t.test('a caller with all scopes of `see` sees a server, regardless of other scopes', async t => {
  const rows = [
    [bob('mcp', 'github'), true],
    [bob('github:admin'), false],
    [bob(), false],
    [LOCAL, true],
  ] as const
  for (const [caller, sees] of rows) t.equal(access?.sees(caller), sees)
  const both = accessOf({ see: ['a', 'b'], call: [] }, silentLogger)
  t.equal(both?.sees(bob('b')), false)
  t.equal(both?.sees(bob('b', 'c', 'a')), true, 'in any order')
})

t.test('a call that lacks a scope is told all that it needs, each once', async t => {
  const lacking = (tool: string, ...scopes: readonly string[]) =>
    access?.lacking(bob('github', ...scopes), tool)
  t.same(lacking('delete_branch'), ['github:admin'])
  t.same(lacking('delete_repo'), ['github:admin', 'github:write'], 'of every rule that matches')
  t.same(lacking('delete_repo', 'github:write'), ['github:admin', 'github:write'])
  t.equal(lacking('delete_repo', 'github:write', 'github:admin'), undefined)
  t.equal(lacking('list_issues'), undefined)
  t.same(lacking('exact.name'), ['other'], 'globs match names, not paths')
  t.equal(access?.lacking(LOCAL, 'delete_repo'), undefined, 'where nothing has to be proven')
})

t.test('a server without rules requires no scopes', async t => {
  t.equal(accessOf({ see: [], call: [] }, silentLogger), undefined)
})

t.test('what a call wanted and what its token has is logged', async t => {
  const { log, lines } = recordedLog()
  accessOf(CONFIG, log)?.lacking(bob('github'), 'delete_branch')
  const [line] = lines
  t.same(line?.[1], {
    principal: 'person bob',
    tool: 'delete_branch',
    wanted: ['github:admin'],
    has: ['github'],
  })
  t.equal(lines.length, 1)
})

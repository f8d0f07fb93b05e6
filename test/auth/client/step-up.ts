import t from 'tap'
import { countLogin, wantMore } from '../../../src/auth/client/step-up.js'

const MINUTE_MS = 60_000

t.test('requested and challenged scopes are combined, at most three times', async t => {
  const first = wantMore(undefined, { challenged: ['b'], asked: ['a'], nowMs: 0 })
  t.same(first, { scopes: ['a', 'b'], attempts: 0, total: 0, sinceMs: 0 })
  t.equal(wantMore(first, { challenged: ['b'], asked: ['a', 'b'], nowMs: 1 }), first, 'the same again')
  const again = [1, 2, 3].reduce<typeof first>((last, nowMs) => {
    const next = countLogin(last, nowMs)
    return typeof next === 'object' ? next : last
  }, first)
  t.match(again, { attempts: 3, total: 3 })
  t.equal(countLogin(again, 4), 'too-many')
  t.match(countLogin(again, 11 * MINUTE_MS), { attempts: 1, total: 1, sinceMs: 11 * MINUTE_MS })
  t.match(countLogin({ ...again, sinceMs: 99 }, 5), { attempts: 1 }, 'a clock that was set back')
})

t.test('the login that has just asked for these scopes counts', async t => {
  t.match(wantMore(undefined, { challenged: ['a'], asked: ['a'], nowMs: 0 }), { attempts: 1, total: 1 })
  t.equal(countLogin(undefined, 0), undefined, 'a login that nobody refused does not')
})

t.test('a server that asks for other scopes for ever is left alone in the end', async t => {
  let last = wantMore(undefined, { challenged: ['s0'], asked: [], nowMs: 0 })
  let logins = 0
  for (let index = 1; index < 50; index += 1) {
    const counted = countLogin(last, index)
    if (typeof counted !== 'object') break
    logins += 1
    last = wantMore(counted, { challenged: [`s${index}`], asked: counted.scopes, nowMs: index })
  }
  t.equal(logins, 9)
})

t.test('what a server wants without end is kept up to a bound, the latest of it', async t => {
  let last = wantMore(undefined, { challenged: ['s0'], asked: ['a'], nowMs: 0 })
  for (let index = 1; index < 999; index += 1)
    last = wantMore(last, { challenged: [`s${index}`], asked: ['a'], nowMs: 0 })
  t.equal(last.scopes.length, 200)
  t.equal(last.scopes.at(-1), 's998')
})

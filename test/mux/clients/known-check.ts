import t from 'tap'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Client } from '../../../src/model/links.js'
import { KnownCheck } from '../../../src/mux/clients/known-check.js'
import type { Server } from '../../../src/peers/server.js'
import { FakeClock, settled } from '../../support/fake-clock.js'

const FACTS = { capabilities: { tools: {}, prompts: undefined, resources: undefined } }

/** Servers that open when told to, and a check that asks them for one client. */
const start = (names: readonly string[]) => {
  const clock = new FakeClock()
  const client = {} as Client
  const here = new Set([client])
  const done: string[] = []
  const opening = new Map<string, (isFine: boolean) => void>()
  const servers = names.map(name => {
    const connection = {
      hasCarried: false,
      open: () =>
        new Promise((resolve, reject) => {
          opening.set(name, isFine => (isFine ? resolve({ facts: FACTS }) : reject(new Error('no'))))
        }),
    }
    return {
      name,
      connection,
      connectionFor: () => connection,
      profilesOf: (of: Client & { readonly profile?: string }) => [of.profile ?? '', 'other'],
      idlest: () => connection,
      end: () => {
        done.push(`${name} ends`)
        return Promise.resolve()
      },
    }
  })
  const fresh = new Set<unknown>()
  const catalog = {
    isOnlyFromDisk: (server: unknown) => !fresh.has(server),
    read: (server: Server, _client: Client, list: string) => {
      done.push(`${server.name} ${list}`)
      return Promise.resolve()
    },
  }
  const check = new KnownCheck({ catalog, clients: here, clock, log: silentLogger })
  for (const server of servers) check.add(server as unknown as Server, client)
  const pass = async (ms: number) => {
    clock.advance(ms)
    await settled()
  }
  const opened = async (name: string, isFine = true) => {
    opening.get(name)?.(isFine)
    await settled()
  }
  return { clock, client, here, done, opening, servers, fresh, check, pass, opened }
}

t.test('programs known from an earlier process are asked in the background, two at a time', async t => {
  const { opening, pass, opened, done, check, servers, client, clock } = start(['a', 'b', 'c'])
  await pass(4999)
  t.same([...opening.keys()], [], 'not before the client had its answers')
  await pass(1)
  t.same([...opening.keys()], ['a', 'b'])
  await opened('a')
  t.same(done, ['a tools', 'a ends'], 'only lists that it offers')
  t.same([...opening.keys()], ['a', 'b', 'c'])
  await opened('b', false)
  t.same(done.slice(2), ['b ends'], 'one that fails is not restarted')
  await pass(5000)
  await opened('c')
  t.same(done.slice(3), ['c tools', 'c ends'])
  check.add(servers[0] as unknown as Server, client)
  await pass(60_000)
  t.same(done.length, 5, 'each is asked once')
  t.equal(clock.pending, 0)
})

t.test('a program that is called, was reached, or has lost its client is left alone', async t => {
  const { here, client, servers, fresh, check, pass, opened, done, opening } = start(['called', 'reached'])
  fresh.add(servers[1])
  await pass(5000)
  t.same([...opening.keys()], ['called'])
  Object.assign(servers[0]?.connection ?? {}, { hasCarried: true })
  await opened('called')
  t.same(done, ['called tools'])
  const other = start(['x'])
  other.here.clear()
  await other.pass(5000)
  t.same([...other.opening.keys()], [])
  other.here.add(other.client)
  other.check.add(other.servers[0] as unknown as Server, other.client)
  await other.pass(5000)
  t.same([...other.opening.keys()], ['x'], 'the next client schedules it again')
  const closed = start(['y'])
  closed.check.close()
  await closed.pass(5000)
  t.same([...closed.opening.keys()], [])
  t.ok(here.has(client))
  check.close()
})

t.test('a program is checked for a client that stays if the first one has left', async t => {
  const { here, client, servers, check, pass, opened, done, opening } = start(['a'])
  const other = {} as Client
  here.add(other)
  check.add(servers[0] as unknown as Server, other)
  here.delete(client)
  await pass(5000)
  t.same([...opening.keys()], ['a'])
  await opened('a')
  t.same(done, ['a tools', 'a ends'])
  check.close()
})

t.test('a program is asked once for each set of capabilities that its clients declare', async t => {
  const { here, servers, check, pass, opened, done } = start(['a'])
  const server = servers[0] as unknown as Server
  const clientOf = (profile: string): Client => {
    const client = { profile } as unknown as Client
    here.add(client)
    check.add(server, client)
    return client
  }
  clientOf('roots')
  clientOf('roots')
  await pass(5000)
  await opened('a')
  await opened('a')
  t.same(done, ['a tools', 'a ends', 'a tools', 'a ends'], 'the first client declared nothing')
  clientOf('roots')
  clientOf('sampling')
  await pass(5000)
  await opened('a')
  t.same(done.slice(4), ['a tools', 'a ends'], 'one that came later')
  check.close()
})

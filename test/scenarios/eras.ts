import t, { type Test } from 'tap'
import type { Loose } from '../support/client/raw-client.js'
import { type Connected, connectTo, type List } from '../support/client/sdk-client.js'
import type { AnyMessage, ClientKind } from '../support/client/sdk-transports.js'
import { MODERN, type Revision } from '../support/era/codec.js'
import { NOWHERE, startProxy } from '../support/proxy/start.js'
import { startServer } from '../support/server/started-server.js'

/** Ten servers, five of each era: aliases, with what carries them and what they speak. */
const SERVERS = [
  ['la', 'stdio', '2024-11-05'],
  ['lb', 'stdio', '2025-06-18'],
  ['lc', 'stdio', '2025-11-25'],
  ['ld', 'http', '2025-03-26'],
  ['le', 'http', '2025-11-25'],
  ['ma', 'stdio', MODERN],
  ['mb', 'stdio', MODERN],
  ['mc', 'stdio', MODERN],
  ['md', 'http', MODERN],
  ['me', 'http', MODERN],
] as const
const ALIASES = SERVERS.map(([alias]) => alias)

/** Clients of both eras. */
const CLIENTS = [
  ['http', '2025-11-25'],
  ['sse', '2024-11-05'],
  ['http', MODERN],
  ['ws', MODERN],
] as const satisfies [ClientKind, Revision][]

/**
 * A proxy of all of them, and the clients. Each server runs once, whoever uses it: those of the new era keep
 * nothing about their clients, and the others are configured so.
 */
const proxyOfTen = async (t: Test): Promise<readonly Connected[]> => {
  const entries = SERVERS.map(async ([alias, kind, revision]) => {
    const { entry } = await startServer(t, kind, revision)
    return [alias, revision === MODERN ? entry : { ...entry, sharing: 'all' }] as const
  })
  const proxy = startProxy(t, Object.fromEntries(await Promise.all(entries)), { startupWait: '60s' })
  const { url, sseUrl = '', wsUrl = '' } = await proxy.listen({ port: 0 })
  const address = { ...NOWHERE, url, sseUrl, wsUrl }
  const clients: Connected[] = []
  // One after the other: what a server is has to be known before others can share it.
  for (const [kind, revision] of CLIENTS) clients.push(await connectTo(t, address, kind, revision))
  return clients
}

const everything = async ({ client }: Connected, list: List): Promise<Loose[]> => {
  const all: Loose[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { items, next } = await client.list(list, cursor)
    all.push(...items)
    cursor = next
  }
  return all
}

const textOf = ({ content }: Loose): string => content[0].text
const isUpdate = ({ method }: AnyMessage): boolean => method === 'notifications/resources/updated'
const updatesIn = ({ wire }: Connected, resource: string): readonly string[] =>
  wire.heard
    .filter(isUpdate)
    .map(({ params }) => params.uri as string)
    .filter(uri => uri.endsWith(resource))

t.setTimeout(600_000)
t.test('ten servers of both eras, behind clients of both eras at once', async t => {
  const clients = await proxyOfTen(t)
  const [legacy, oldest, modern, pipe] = clients as [Connected, Connected, Connected, Connected]

  await t.test('all of them see the same lists', async t => {
    for (const list of ['tools', 'prompts', 'resources', 'resourceTemplates'] as const) {
      const [first, ...others] = await Promise.all(clients.map(client => everything(client, list)))
      t.equal(
        new Set(first?.map(({ name, uri, uriTemplate }) => uriTemplate ?? uri ?? name)).size,
        first?.length,
      )
      for (const alias of ALIASES)
        t.ok(
          JSON.stringify(first).includes(`"${alias}${list.startsWith('resource') ? '+' : '__'}`),
          `${list} of ${alias}`,
        )
      for (const other of others) t.same(other, first, list)
    }
  })

  await t.test('a call that is cancelled is cancelled at its server and nowhere else', async t => {
    const cases: readonly (readonly [string, Connected, string])[] = [
      ['old', legacy, 'lc'],
      ['across', legacy, 'md'],
      ['back', modern, 'le'],
      ['new', pipe, 'mb'],
    ]
    const waits = clients.flatMap(one =>
      ALIASES.map(alias => {
        const stop = new AbortController()
        const key = cases.find(([, client, at]) => client === one && at === alias)?.[0] ?? 'other'
        const options = { signal: stop.signal, onprogress: () => undefined }
        const ended = one.client.callTool(`${alias}__wait`, { key }, options).catch(() => 'stopped')
        return { key, stop, ended }
      }),
    )
    const isBegun = ({ method }: AnyMessage): boolean => method === 'notifications/progress'
    for (const { wire } of clients)
      await wire.hears(() => wire.heard.filter(isBegun).length === ALIASES.length)
    for (const { key, stop } of waits) if (key !== 'other') stop.abort('enough')
    for (const [key, one, alias] of cases)
      t.equal(JSON.parse(textOf(await one.client.callTool(`${alias}__cancels`, { key }))).stopped, 1, key)
    for (const alias of ALIASES) {
      const { keys } = JSON.parse(textOf(await legacy.client.callTool(`${alias}__stopped`)))
      t.same(
        keys,
        cases.filter(([, , at]) => at === alias).map(([key]) => key),
        alias,
      )
    }
    for (const { stop } of waits) stop.abort('all')
    t.same(new Set(await Promise.all(waits.map(({ ended }) => ended))), new Set(['stopped']))
  })

  await t.test('an update reaches each of its subscribers once, and no other client', async t => {
    const subscribed: readonly (readonly [Connected, readonly string[]])[] = [
      [legacy, ['la', 'lc', 'ma', 'me']],
      [oldest, ['ld', 'ma']],
      [modern, ['lc', 'mc', 'me']],
      [pipe, ['la', 'le', 'ma', 'mb']],
    ]
    // Everybody also listens to a second resource everywhere: what was to come before its update has come by
    // then.
    for (const [{ client }, aliases] of subscribed) {
      const own = aliases.map(alias => `${alias}+file:///1`)
      await client.subscribe(...own, ...ALIASES.map(alias => `${alias}+file:///2`))
    }
    for (const uri of ['file:///1', 'file:///2'])
      for (const alias of ALIASES) await legacy.client.callTool(`${alias}__touch`, { uri })
    for (const [one, aliases] of subscribed) {
      await one.wire.hears(() => updatesIn(one, '/2').length >= ALIASES.length)
      t.same(
        [...updatesIn(one, '/2')].sort(),
        ALIASES.map(alias => `${alias}+file:///2`),
      )
      t.same(
        [...updatesIn(one, '/1')].sort(),
        aliases.map(alias => `${alias}+file:///1`),
      )
    }
  })

  for (const { wire } of clients) t.same(wire.watch.problems, [], 'everybody heard their own revision')
})

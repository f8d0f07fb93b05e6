import assert from 'node:assert/strict'
import type { Loose } from '../../support/client/raw-client.js'
import type { AnyClient, List } from '../../support/client/sdk-client.js'
import { MODERN } from '../../support/era/codec.js'
import { ALIAS, type Flow } from './rig.js'

/**
 * A client is answered in the revision it offers, with the capabilities that the proxy vouches for, its
 * name, and the instructions of the server; with the revision that knows no handshake, when it asks what
 * there is.
 */
export const initialise: Flow = {
  title: 'the handshake agrees on the revision, capabilities and names',
  run: async ({ pair, client, wire }) => {
    const [answer] = wire.heard
    if (pair.clientRevision === MODERN) assert.deepEqual(answer?.result.supportedVersions, [MODERN])
    else assert.equal(answer?.result.protocolVersion, pair.clientRevision)
    assert.deepEqual(client.capabilities, {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      ...(pair.clientRevision >= '2025-03-26' && { completions: {} }),
      logging: {},
    })
    assert.equal(client.serverName, 'mcp-proxy')
    assert.match(client.instructions ?? '', /I am the matrix/)
  },
}

/** Everything on the pages of a list, each page as long as it may be. */
const walk = async (client: AnyClient, list: List): Promise<Loose[]> => {
  const all: Loose[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await client.list(list, cursor)
    assert.equal(items.length, next === undefined ? items.length : 3, 'a page but the last is full')
    all.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return all
}

const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n + 1))

/**
 * A client that follows the cursors sees every tool, prompt, resource and template once, under the server's
 * alias, on pages as long as configured.
 */
export const lists: Flow = {
  title: 'lists come whole, in pages',
  run: async ({ client }) => {
    const tools = (await walk(client, 'tools')).map(({ name }) => name as string)
    assert.ok(tools.length > 10 && tools.every(name => name.startsWith(`${ALIAS}__`)))
    assert.equal(new Set(tools).size, tools.length)
    assert.deepEqual(
      (await walk(client, 'prompts')).map(({ name }) => name),
      numbered(5, n => `${ALIAS}__prompt-${n}`),
    )
    assert.deepEqual(
      (await walk(client, 'resources')).map(({ uri }) => uri),
      numbered(5, n => `${ALIAS}+file:///${n}`),
    )
    assert.deepEqual(
      (await walk(client, 'resourceTemplates')).map(({ uriTemplate }) => uriTemplate),
      numbered(3, n => `${ALIAS}+file:///t${n}/{path}`),
    )
  },
}

/**
 * A client hears that the tools have changed when the server adds one, and finds it in the list that it then
 * asks for.
 */
export const listChanged: Flow = {
  title: 'a tool that is added is announced, and listed',
  run: async ({ client, wire, call, key }) => {
    const name = `fresh-${key.replace(' ', '-')}`
    await client.list('tools')
    await client.hearChanges()
    const from = wire.heard.length
    assert.equal(await call('add', { name }), 'added')
    await wire.hears(({ method }) => method === 'notifications/tools/list_changed', from)
    const names: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const { items, next } = await client.list('tools', cursor)
      names.push(...items.map(tool => tool.name))
      cursor = next
    }
    assert.ok(names.includes(`${ALIAS}__${name}`))
  },
}

const URI = `${ALIAS}+file:///1`

/** A client that subscribes to a resource hears of its update, under the URI by which the client knows it. */
export const subscribe: Flow = {
  title: 'an update of a resource reaches its subscriber',
  run: async ({ client, wire, call }) => {
    await client.subscribe(URI)
    assert.equal(await call('touch', { uri: 'file:///1' }), 'touched')
    const { params } = await wire.hears(({ method }) => method === 'notifications/resources/updated')
    const { _meta, ...said } = params
    assert.deepEqual(said, { uri: URI })
  },
}

const isUpdate = ({ method }: { method?: string }): boolean => method === 'notifications/resources/updated'

/**
 * A client that ends the subscription made before hears of no further update, and the server knows that
 * nobody listens.
 */
export const unsubscribe: Flow = {
  title: 'after the end of a subscription nothing is sent',
  run: async ({ client, wire, json, call }) => {
    const before = wire.heard.filter(isUpdate).length
    await client.unsubscribe(URI)
    assert.deepEqual(await json('subscribed', { uri: 'file:///1', wanted: false }), [])
    assert.equal(await call('touch', { uri: 'file:///1' }), 'nobody is subscribed')
    assert.equal(wire.heard.filter(isUpdate).length, before)
  },
}

/**
 * A client hears the log messages of the level it wants and above, named after the server, which is told the
 * level too.
 */
export const logLevel: Flow = {
  title: 'log messages come from the wanted level on',
  run: async ({ client, wire, call }) => {
    await client.setLevel('warning')
    assert.equal(await call('level'), 'warning', 'the server is told')
    await call('log', { levels: ['debug', 'error', 'info', 'warning'] })
    const heard = wire.heard.filter(({ method }) => method === 'notifications/message')
    assert.deepEqual(
      heard.map(({ params }) => params),
      ['error', 'warning'].map(level => ({ level, logger: `${ALIAS}/own`, data: { level } })),
    )
  },
}

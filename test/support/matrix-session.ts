import assert from 'node:assert/strict'
import { ALIAS, type Flow } from './matrix.js'

const initialise: Flow = async ({ pair, client, wire }) => {
  const [answer] = wire.heard
  assert.equal(answer?.result.protocolVersion, pair.clientRevision)
  assert.deepEqual(client.getServerCapabilities(), {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    ...(pair.clientRevision >= '2025-03-26' && { completions: {} }),
    logging: {},
  })
  assert.equal(client.getServerVersion()?.name, 'mcp-proxy')
  assert.match(client.getInstructions() ?? '', /I am the matrix/)
}

/** Everything on the pages of a list, each page as long as it may be. */
const walk = async <T>(page: (cursor?: string) => Promise<{ items: T[]; next: string | undefined }>) => {
  const all: T[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await page(cursor)
    assert.equal(items.length, next === undefined ? items.length : 3, 'a page but the last is full')
    all.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return all
}

const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n + 1))

const lists: Flow = async ({ client }) => {
  const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })
  const tools = await walk(async cursor => {
    const { tools, nextCursor } = await client.listTools(at(cursor))
    return { items: tools.map(({ name }) => name), next: nextCursor }
  })
  assert.ok(tools.length > 10 && tools.every(name => name.startsWith(`${ALIAS}__`)))
  assert.equal(new Set(tools).size, tools.length)
  const prompts = await walk(async cursor => {
    const { prompts, nextCursor } = await client.listPrompts(at(cursor))
    return { items: prompts.map(({ name }) => name), next: nextCursor }
  })
  assert.deepEqual(
    prompts,
    numbered(5, n => `${ALIAS}__prompt-${n}`),
  )
  const resources = await walk(async cursor => {
    const { resources, nextCursor } = await client.listResources(at(cursor))
    return { items: resources.map(({ uri }) => uri), next: nextCursor }
  })
  assert.deepEqual(
    resources,
    numbered(5, n => `${ALIAS}+file:///${n}`),
  )
  const templates = await walk(async cursor => {
    const { resourceTemplates, nextCursor } = await client.listResourceTemplates(at(cursor))
    return { items: resourceTemplates.map(({ uriTemplate }) => uriTemplate), next: nextCursor }
  })
  assert.deepEqual(
    templates,
    numbered(3, n => `${ALIAS}+file:///t${n}/{path}`),
  )
}

const listChanged: Flow = async ({ client, wire, call }) => {
  await client.listTools()
  const from = wire.heard.length
  assert.equal(await call('add', { name: 'fresh' }), 'added')
  await wire.hears(({ method }) => method === 'notifications/tools/list_changed', from)
  const names: string[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  }
  assert.ok(names.includes(`${ALIAS}__fresh`))
}

const URI = `${ALIAS}+file:///1`
const isUpdate = ({ method }: { method?: string }): boolean => method === 'notifications/resources/updated'

const subscribe: Flow = async ({ client, wire, call }) => {
  await client.subscribeResource({ uri: URI })
  assert.equal(await call('touch', { uri: 'file:///1' }), 'touched')
  const { params } = await wire.hears(isUpdate)
  assert.deepEqual(params, { uri: URI })
}

const unsubscribe: Flow = async ({ client, wire, json, call }) => {
  const before = wire.heard.filter(isUpdate).length
  await client.unsubscribeResource({ uri: URI })
  assert.deepEqual(await json('subscribed', { uri: 'file:///1', wanted: false }), [])
  assert.equal(await call('touch', { uri: 'file:///1' }), 'nobody is subscribed')
  assert.equal(wire.heard.filter(isUpdate).length, before)
}

const log: Flow = async ({ client, wire, call }) => {
  await client.setLoggingLevel('warning')
  assert.equal(await call('level'), 'warning', 'the server is told')
  await call('log', { levels: ['debug', 'error', 'info', 'warning'] })
  const heard = wire.heard.filter(({ method }) => method === 'notifications/message')
  assert.deepEqual(
    heard.map(({ params }) => params),
    ['error', 'warning'].map(level => ({ level, logger: `${ALIAS}/own`, data: { level } })),
  )
}

/** What makes a session: its handshake, its lists, and what the server says by itself. */
export const SESSION_FLOWS: Readonly<Record<string, Flow>> = {
  'the handshake agrees on the revision, capabilities and names': initialise,
  'lists come whole, in pages': lists,
  'a tool that is added is announced, and listed': listChanged,
  'an update of a resource reaches its subscriber': subscribe,
  'after the end of a subscription nothing is sent': unsubscribe,
  'log messages come from the wanted level on': log,
}

import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/parse.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { ERAS, type Era, EraClient } from '../support/client/era-client.js'
import type { Loose } from '../support/client/raw-client.js'
import { startAuthorized } from '../support/proxy/authorized.js'
import { startProxy } from '../support/proxy/start.js'

const SERVER = fileURLToPath(new URL('../fixtures/skills-server.mjs', import.meta.url))
const META = 'io.modelcontextprotocol/'
const SKILLS = `${META}skills`

const skilled = (era: Era, plan: object = {}, more: object = {}) => ({
  command: process.execPath,
  args: [SERVER, era, JSON.stringify(plan)],
  ...more,
})

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** A skill with these files, by their paths in its folder. */
const skill = (path: string, files?: Readonly<Record<string, string>>, scheme = 'skill://') => ({
  uri: `${scheme}${path}/SKILL.md`,
  frontmatter: { name: path.split('/').at(-1), description: 'Does it' },
  resources:
    files === undefined
      ? 'dynamic'
      : Object.entries(files).map(([file, text]) => ({
          uri: `${scheme}${path}/${file}`,
          digest: digestOf(text),
          size: Buffer.byteLength(text),
        })),
})

/** The texts of a skill's files, by URI. */
const texts = (path: string, files: Readonly<Record<string, string>>, scheme = 'skill://') =>
  Object.fromEntries(Object.entries(files).map(([file, text]) => [`${scheme}${path}/${file}`, text]))

const REFUNDS = {
  'SKILL.md': '---\nname: refunds\n---\nSee [eu](rules/eu.md)',
  'rules/eu.md': 'Ünder 14 days',
}
const GIT = { 'SKILL.md': 'git' }

const ALPHA = {
  skills: [skill('acme/billing/refunds', REFUNDS), skill('o/r/git', GIT, 'github://')],
  more: [skill('late')],
  files: { ...texts('acme/billing/refunds', REFUNDS), ...texts('o/r/git', GIT, 'github://') },
  folders: {
    'skill://acme/billing/refunds': [
      { uri: 'skill://acme/billing/refunds/SKILL.md', name: 'SKILL.md', title: 7 },
      { uri: 'skill://acme/billing/refunds/rules', mimeType: 'inode/directory' },
      { name: 'no uri' },
    ],
    'skill://': [{ uri: 'skill://acme', name: 'acme', mimeType: 'inode/directory' }],
  },
  ttlMs: 300_000,
}
const BETA = {
  skills: [skill('x', { 'SKILL.md': 'x' })],
  files: texts('x', { 'SKILL.md': 'x' }),
  ttlMs: 60_000,
}

const urisOf = async (client: EraClient): Promise<readonly string[]> =>
  (await client.get('skills/list')).skills.map(({ uri }: Loose) => uri)

/** Starts the proxy that all clients of servers of an era share. */
const share = (era: Era) => {
  const plain = skilled(era, { announced: { tools: {}, resources: {} } })
  return startProxy(t, { a: skilled(era, ALPHA), b: skilled(era, BETA), plain }).listen({ port: 0 })
}

const shared = { legacy: share('legacy'), modern: share('modern') }

for (const era of ERAS)
  for (const server of ERAS) {
    const pair = `a ${era} client and ${server} servers`

    t.test(
      `${pair}: skills of all servers are one list, with the contents that their servers wrote`,
      async t => {
        const { url } = await shared[server]
        const client = await EraClient.connect(t, url, era)
        t.same(client.capabilities.extensions, { [SKILLS]: { directoryRead: true } })
        const { skills, ...rest } = await client.get('skills/list')
        const exposed = (alias: string, entry: Loose): Loose =>
          JSON.parse(
            JSON.stringify(entry)
              .replaceAll('skill://', `skill://${alias}/`)
              .replaceAll('github:', 'a+github:'),
          )
        t.same(skills, [
          ...ALPHA.skills.map(one => exposed('a', one)),
          ...BETA.skills.map(one => exposed('b', one)),
        ])
        if (era === 'legacy') t.same(rest, {})
        else {
          t.equal(rest.resultType, 'complete')
          t.equal(rest.cacheScope, server === 'modern' ? 'public' : 'private')
          t.equal(rest.ttlMs > 0 && rest.ttlMs <= 60_000, server === 'modern')
        }
        const seen: readonly string[] = JSON.parse(
          (await client.get('tools/call', { name: 'plain__seen' })).content[0].text,
        )
        t.notOk(
          seen.some(line => line.includes('skills/')),
          'a server without skills is not asked for any',
        )
      },
    )

    t.test(`${pair}: every file of a skill has its digest and size under its new URI`, async t => {
      const { url } = await shared[server]
      const client = await EraClient.connect(t, url, era)
      let count = 0
      for (const { resources } of (await client.get('skills/list')).skills)
        for (const { uri, digest, size } of resources) {
          const { contents } = await client.get('resources/read', { uri })
          t.equal(contents[0].uri, uri)
          t.equal(digestOf(contents[0].text), digest, uri)
          t.equal(Buffer.byteLength(contents[0].text), size, uri)
          count += 1
        }
      t.equal(count, 4)
    })

    t.test(`${pair}: a skill and a directory are read from their owner`, async t => {
      const { url } = await shared[server]
      const client = await EraClient.connect(t, url, era)
      const hints = era === 'legacy' ? {} : { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
      const ofServer = era === 'modern' && server === 'modern' ? { ttlMs: 300_000, cacheScope: 'public' } : {}

      const { _meta: _, ...found } = await client.get('skills/get', { uri: 'skill://a/late/SKILL.md' })
      t.same(found, { skill: { ...skill('late'), uri: 'skill://a/late/SKILL.md' }, ...hints, ...ofServer })
      const none = await client.send('skills/get', { uri: 'skill://a/none/SKILL.md' })
      t.equal(none.error.code, -32602)
      t.equal(none.error.data.uri, 'skill://a/none/SKILL.md')

      const folder = await client.get('resources/directory/read', { uri: 'skill://a/acme/billing/refunds' })
      t.same(folder.resources, [
        { uri: 'skill://a/acme/billing/refunds/SKILL.md', name: 'SKILL.md' },
        {
          uri: 'skill://a/acme/billing/refunds/rules',
          mimeType: 'inode/directory',
          name: 'skill://acme/billing/refunds/rules',
        },
      ])
      t.match(folder, { ...hints, ...ofServer })
      if (era === 'legacy') t.notOk('ttlMs' in folder || 'resultType' in folder)
      for (const uri of ['skill://a', 'skill://a/'])
        t.match(await client.get('resources/directory/read', { uri }), {
          resources: [{ uri: 'skill://a/acme' }],
        })
      const { error } = await client.send('resources/directory/read', { uri: 'skill://b/x' })
      t.match(error, { code: -32602, message: 'skill://b/x is not a directory resource' })
      const { error: unknown } = await client.send('resources/directory/read', { uri: 'skill://a/x' })
      t.equal(unknown.code, -32602)
    })

    t.test(`${pair}: the URI of a server's text works while one server has it`, async t => {
      const own = skill('own', { 'SKILL.md': 'x', 'a.md': 'y' })
      const both = skill('both')
      const files = (text: string) => ({
        ...texts('own', { 'SKILL.md': text, 'a.md': text }),
        ...texts('both', { 'SKILL.md': text }),
        ...texts('b/z', { 'SKILL.md': text }),
      })
      const proxy = startProxy(t, {
        a: skilled(server, {
          skills: [own, both],
          files: files('of a'),
          templates: [{ uriTemplate: 'skill://{+path}', name: 't' }],
        }),
        // This server's skills begin with its own alias, and with that of the other one.
        b: skilled(server, {
          skills: [both, skill('b/z'), skill('a/own')],
          files: files('of b'),
          templates: [{ uriTemplate: 'skill://{+path}', name: 't' }],
        }),
      })
      const { url } = await proxy.listen({ port: 0 })
      const client = await EraClient.connect(t, url, era)
      const read = async (uri: string): Promise<string> => {
        const { result, error } = await client.send('resources/read', { uri })
        return result?.contents[0].text ?? error.message
      }
      t.equal(await read('skill://own/SKILL.md'), 'of a')
      t.equal(await read('skill://own/a.md'), 'of a')
      t.match(await client.get('skills/get', { uri: 'skill://own/SKILL.md' }), {
        skill: { uri: 'skill://a/own/SKILL.md' },
      })
      for (const method of ['skills/get', 'resources/read']) {
        const { error } = await client.send(method, { uri: 'skill://both/SKILL.md' })
        t.equal(error.code, -32602)
        t.match(error.message, /skill:\/\/a\/both\/SKILL\.md, skill:\/\/b\/both\/SKILL\.md$/)
      }
      t.equal(await read('skill://a/own/SKILL.md'), 'of a', 'the alias of a server always names that server')
      t.equal(await read('skill://b/b/z/SKILL.md'), 'of b')
      t.equal(await read('skill://b/z/SKILL.md'), 'of b', 'a server may write its own alias')
    })

    t.test(`${pair}: entries that clients reject are left out`, async t => {
      const good = skill('good', { 'SKILL.md': 'x' })
      const [file] = good.resources as Loose[]
      const bad = [
        { ...good, frontmatter: { name: 'other', description: 'd' } },
        { ...good, uri: 'skill://n/SKILL.md', resources: undefined },
        { ...good, uri: 'skill://good/README.md' },
        { ...good, uri: 'skill://y/good/SKILL.md', frontmatter: { name: 'good' } },
        { ...good, uri: 'skill://y/good/SKILL.md', resources: 'static' },
        { ...good, uri: 'skill://y/good/SKILL.md', resources: [{ ...file, size: '1' }] },
        { ...good, uri: 'skill://y/good/SKILL.md', resources: [{ ...file, digest: undefined }] },
        { ...good, uri: 7 },
        null,
        { ...good, frontmatter: { name: 'good', description: 'the second one' } },
      ]
      const proxy = startProxy(t, {
        a: skilled(server, { skills: [...bad.slice(0, 5), good, ...bad.slice(5)] }),
        b: skilled(server, BETA),
      })
      const { url } = await proxy.listen({ port: 0 })
      const client = await EraClient.connect(t, url, era)
      const { skills } = await client.get('skills/list')
      t.same(
        skills.map(({ uri, frontmatter }: Loose) => [uri, frontmatter.description]),
        [
          ['skill://a/good/SKILL.md', 'Does it'],
          ['skill://b/x/SKILL.md', 'Does it'],
        ],
      )
    })

    t.test(`${pair}: a new skill is news once, and an unchanged list is none`, async t => {
      const proxy = startProxy(t, { a: skilled(server, { ...BETA, more: [skill('late')] }) })
      const { url } = await proxy.listen({ port: 0 })
      const client = await EraClient.connect(t, url, era)
      t.same(await urisOf(client), ['skill://a/x/SKILL.md'])
      const heard = era === 'legacy' ? await ambientOf(client) : await listenTo(t, url)
      const add = () => client.get('tools/call', { name: 'a__add' })
      await add()
      while (!heard().includes(CHANGED)) await new Promise(resolve => setImmediate(resolve))
      t.same(await urisOf(client), ['skill://a/x/SKILL.md', 'skill://a/late/SKILL.md'])
      await add()
      await urisOf(client)
      t.same(
        heard().filter(method => method === CHANGED),
        [CHANGED],
      )
    })
  }

const CHANGED = 'notifications/resources/list_changed'

type Heard = () => readonly (string | undefined)[]

const ambientOf = async ({ raw }: EraClient): Promise<Heard> => {
  await raw.listen()
  return () => raw.ambient.map(({ message }) => message.method)
}

/** Opens a listening request; resolves once it is acknowledged, with the methods received on it. */
const listenTo = async (t: Test, url: string): Promise<Heard> => {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const envelope = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {} }
  const params = { notifications: { resourcesListChanged: true }, _meta: envelope }
  const response = await fetch(url, {
    method: 'POST',
    signal: abort.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params }),
  })
  const methods: (string | undefined)[] = []
  const read = async (): Promise<void> => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      methods.push(...[...chunk.matchAll(/"method":"([^"]+)"/g)].map(([, method]) => method))
  }
  read().catch(() => undefined)
  while (methods.length === 0) await new Promise(resolve => setImmediate(resolve))
  return () => methods
}

t.test('a view without resources and a person without access see no skills', async t => {
  const views = { bare: { resources: false }, full: { servers: ['a'] } }
  const proxy = startProxy(
    t,
    { a: skilled('modern', ALPHA), b: skilled('legacy', BETA) },
    { more: { views, listen: { port: 0 } } },
  )
  const { url } = await proxy.listen({ port: 0 })
  for (const era of ERAS) {
    const bare = await EraClient.connect(t, `${url}/bare`, era)
    t.equal(bare.capabilities.extensions, undefined)
    t.equal(bare.capabilities.resources, undefined)
    for (const [method, uri] of [
      ['skills/list', undefined],
      ['skills/get', 'skill://a/late/SKILL.md'],
      ['skills/get', 'skill://nobody/late/SKILL.md'],
      ['resources/directory/read', 'skill://a/acme'],
    ] as const) {
      const { error } = await bare.send(method, uri === undefined ? {} : { uri })
      t.match(error, { code: -32601, message: `Method not found: ${method}` })
      if (era === 'modern') t.equal(bare.last.status, 404)
    }
    const hidden = await bare.send('resources/read', { uri: 'skill://a/late/SKILL.md' })
    const unknown = await bare.send('resources/read', { uri: 'skill://nobody/late/SKILL.md' })
    t.equal(hidden.error.code, unknown.error.code)

    const full = await EraClient.connect(t, `${url}/full`, era)
    t.same(full.capabilities.extensions, { [SKILLS]: { directoryRead: true } })
    t.same(await urisOf(full), ['skill://a/acme/billing/refunds/SKILL.md', 'a+github://o/r/git/SKILL.md'])
    const own = await EraClient.connect(t, url.replace(/mcp$/, 'servers/b/mcp'), era)
    t.same(own.capabilities.extensions, { [SKILLS]: {} })
    t.same(await urisOf(own), ['skill://x/SKILL.md'], 'a server alone has its own URIs')
    t.match(await own.get('skills/get', { uri: 'skill://x/SKILL.md' }), { skill: BETA.skills[0] })
    t.equal((await own.send('resources/directory/read', { uri: 'skill://x' })).error.code, -32601)
  }
})

t.test('hidden skills are answered like unknown ones', async t => {
  const token = createPersonalToken()
  const people = { alice: { tokens: [{ hash: `sha256:${tokenHash(token)}` }], scopes: ['mcp'] } }
  const servers = {
    a: skilled('modern', ALPHA, { access: { see: ['secret'] } }),
    b: skilled('legacy', { announced: { tools: {}, resources: {} } }),
    c: skilled('legacy', { announced: { tools: {}, resources: {} } }),
  }
  const { origin } = await startAuthorized(
    t,
    { people },
    { more: { mcpServers: servers }, listWaitMs: 60_000 },
  )
  for (const era of ERAS) {
    const client = await EraClient.connect(t, `${origin}/mcp`, era, {
      headers: { authorization: `Bearer ${token}` },
    })
    t.equal(client.capabilities.extensions, undefined)
    for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
      t.equal((await client.send(method, { uri: 'skill://a/late/SKILL.md' })).error.code, -32601)
    const answers = await Promise.all(
      ['a', 'z'].map(alias => client.send('resources/read', { uri: `skill://${alias}/late/SKILL.md` })),
    )
    const [hidden, unknown] = answers.map(({ error }) => ({ ...error, data: undefined }))
    t.equal(hidden.code, unknown.code)
    t.equal(
      hidden.message.replaceAll('skill://a/', 'skill://z/').replaceAll(/\b([bc])\/a\//g, '$1/z/'),
      unknown.message,
    )
  }
})

t.test('rules about resources decide about skills and directories', async t => {
  const plan = { ...ALPHA, skills: [...ALPHA.skills, skill('secret')] }
  const rules = [{ id: 'no', resource: ['skill://secret*', 'skill://acme'], then: 'deny' }]
  const proxy = startProxy(t, { a: skilled('legacy', plan) }, { more: { rules } })
  const { url } = await proxy.listen({ port: 0 })
  for (const era of ERAS) {
    const client = await EraClient.connect(t, url, era)
    t.same(await urisOf(client), ['skill://a/acme/billing/refunds/SKILL.md', 'a+github://o/r/git/SKILL.md'])
    for (const [method, uri] of [
      ['skills/get', 'skill://a/secret/SKILL.md'],
      ['resources/read', 'skill://a/secret/SKILL.md'],
      ['resources/directory/read', 'skill://a/acme'],
    ] as const)
      t.match((await client.send(method, { uri })).error, {
        code: -32603,
        data: { reason: 'denied', rule: 'no' },
      })
    t.match(await client.get('skills/get', { uri: 'skill://a/late/SKILL.md' }), { skill: {} })
  }
})

t.test('search for tools changes nothing about skills', async t => {
  const proxy = startProxy(t, { a: skilled('legacy', BETA) }, { more: { expose: 'search' } })
  const { url } = await proxy.listen({ port: 0 })
  for (const era of ERAS) {
    const client = await EraClient.connect(t, url, era)
    t.same(await urisOf(client), ['skill://a/x/SKILL.md'])
    const { content } = await client.get('tools/call', {
      name: 'find_tools',
      arguments: { query: 'x skill' },
    })
    t.notMatch(content[0].text, /skill:/)
  }
})

t.test('skills are read page by page, and clients get the pages of the proxy', async t => {
  const many = (name: string) => Array.from({ length: 5 }, (_, index) => skill(`${name}${index}`))
  const proxy = startProxy(
    t,
    {
      a: skilled('legacy', { skills: many('a'), pageSize: 2 }),
      failing: skilled('modern', { skills: many('f'), failing: ['skills/list'] }),
      silent: skilled('legacy', { skills: many('s'), silent: ['skills/list'] }),
      b: skilled('modern', { skills: many('b'), pageSize: 2, ttlMs: 60_000 }),
    },
    { pageSize: 4, listWaitMs: 1000 },
  )
  const { url } = await proxy.listen({ port: 0 })
  for (const era of ERAS) {
    const client = await EraClient.connect(t, url, era)
    const found: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page: Loose = await client.get('skills/list', cursor === undefined ? {} : { cursor })
      found.push(...page.skills.map(({ uri }: Loose) => uri))
      cursor = page.nextCursor
      pages += 1
    } while (cursor !== undefined)
    t.equal(pages, 3)
    t.same(found, [
      ...many('a').map(({ uri }) => uri.replace('skill://', 'skill://a/')),
      ...many('b').map(({ uri }) => uri.replace('skill://', 'skill://b/')),
    ])
    t.equal((await client.send('skills/list', { cursor: 'x' })).error.code, -32602)
  }
})

t.test('the resources of any server are rewritten alike, unless its URIs stay as they are', async t => {
  const plan = {
    announced: { tools: {}, resources: {} },
    resources: [{ uri: 'skill://r/a.md', name: 'a' }],
    templates: [{ uriTemplate: 'skill://r/{file}', name: 't' }],
  }
  const proxy = startProxy(t, {
    a: skilled('legacy', plan),
    kept: skilled('modern', { ...plan, skills: [skill('k')] }, { uris: 'preserve' }),
    both: skilled('legacy', { skills: [skill('k')] }, { uris: 'preserve' }),
    one: skilled('legacy', { skills: [skill('k'), skill('l')] }, { uris: 'preserve' }),
  })
  const { url } = await proxy.listen({ port: 0 })
  for (const era of ERAS) {
    const client = await EraClient.connect(t, url, era)
    const { resources } = await client.get('resources/list')
    t.same(
      resources.map(({ uri }: Loose) => uri),
      ['skill://a/r/a.md', 'skill://r/a.md'],
    )
    const { resourceTemplates } = await client.get('resources/templates/list')
    t.same(
      resourceTemplates.map(({ uriTemplate }: Loose) => uriTemplate),
      ['skill://a/r/{file}', 'skill://r/{file}'],
    )
    t.same(await urisOf(client), ['skill://k/SKILL.md', 'skill://l/SKILL.md'], 'a URI is listed once')
    t.match((await client.send('skills/get', { uri: 'skill://k/SKILL.md' })).error, { code: -32602 })
    t.match(await client.get('skills/get', { uri: 'skill://l/SKILL.md' }), { skill: skill('l') })
  }
})

t.test('without skills there is no such method; a server that comes late brings it', async t => {
  const proxy = startProxy(t, { a: skilled('legacy', { announced: { tools: {}, resources: {} } }) })
  const { url } = await proxy.listen({ port: 0 })
  const clients = await Promise.all(ERAS.map(era => EraClient.connect(t, url, era)))
  for (const client of clients) {
    t.equal(client.capabilities.extensions, undefined)
    for (const method of ['skills/list', 'skills/get', 'resources/directory/read']) {
      const { error } = await client.send(method, { uri: 'skill://a/x/SKILL.md' })
      t.match(error, { code: -32601, message: `Method not found: ${method}` })
    }
  }
  const servers = {
    a: skilled('legacy', { announced: { tools: {}, resources: {} } }),
    b: skilled('legacy', BETA),
  }
  const { config } = parseConfig(JSON.stringify({ mcpServers: servers }), 'test.json', {})
  if (config === undefined) throw new Error('bad test configuration')
  proxy.reload(config)
  for (const client of clients) {
    let answer = await client.send('skills/list')
    while (answer.error !== undefined) answer = await client.send('skills/list')
    t.match(answer.result.skills, [{ uri: 'skill://b/x/SKILL.md' }])
  }
})

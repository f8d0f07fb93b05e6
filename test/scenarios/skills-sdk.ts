import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import t, { type Test } from 'tap'
import type { Loose } from '../support/client/raw-client.js'
import { startProxy } from '../support/proxy/start.js'

const server = (file: string, ...args: readonly string[]) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../fixtures/${file}`, import.meta.url)), ...args],
})

const manifest = (name: string): string =>
  `---\nname: ${name}\ndescription: How to ${name}\n---\nSee [more](references/MORE.md).\n`

const skills = (...names: readonly string[]) =>
  Object.fromEntries(
    names.flatMap(name => [
      [`team/${name}/SKILL.md`, manifest(name)],
      [`team/${name}/references/MORE.md`, `More about ${name}: Ünicode & co.`],
    ]),
  )

const official = (era: string, plan: object) => ({
  ...server('sdk-skills-server.mjs', JSON.stringify(plan)),
  era,
})

const BAD = [
  {
    uri: 'skill://fine/SKILL.md',
    frontmatter: { name: 'fine', description: 'd', n: 1 },
    resources: 'dynamic',
    _meta: null,
  },
  { uri: 'skill://mine/SKILL.md', frontmatter: { name: 'other', description: 'd' }, resources: 'dynamic' },
  { uri: 'skill://none/SKILL.md', frontmatter: { name: 'none', description: 'd' } },
]

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const

const connect = async (t: Test, url: string, mode: (typeof MODES)[keyof typeof MODES]): Promise<Client> => {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } })
  t.teardown(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return client
}

for (const [era, mode] of Object.entries(MODES))
  t.test(`the official client of skills reads those of all servers (${era})`, async t => {
    const proxy = startProxy(t, {
      a: official('legacy', { files: skills('fly', 'swim') }),
      b: official('modern', { files: skills('run'), more: skills('walk') }),
      bad: server('skills-server.mjs', era, JSON.stringify({ skills: BAD, ttlMs: 1000 })),
    })
    const { url } = await proxy.listen({ port: 0 })
    const client = await connect(t, url, mode)
    const host = new SkillsClient(client)
    t.equal(host.directoryRead, true)
    const { skills: found, invalid } = await host.list()
    t.same(invalid, [])
    t.same(
      found.map(({ uri }) => uri),
      [
        'skill://a/team/fly/SKILL.md',
        'skill://a/team/swim/SKILL.md',
        'skill://b/team/run/SKILL.md',
        'skill://bad/fine/SKILL.md',
      ],
    )
    for (const entry of found.slice(0, 3)) {
      const { verified, frontmatter, text } = await host.read(entry)
      t.match({ verified, frontmatter, text }, { verified: true, frontmatter: entry.frontmatter })
      t.equal((await host.read(entry, 'references/MORE.md')).verified, true, 'relative references resolve')
      t.same((await host.get(entry.uri)).skill, entry)
      const folder = entry.uri.replace('/SKILL.md', '')
      const { resources } = await host.readDirectory(folder)
      t.same(
        resources.map(({ uri }) => uri),
        [entry.uri, `${folder}/references`],
      )
    }
    const { content }: Loose = await client.callTool({ name: 'b__reload', arguments: {} })
    t.equal(content[0].text, '["skill://team/walk/SKILL.md"]')
    const isThere = async (): Promise<boolean> =>
      (await host.list()).skills.some(({ uri }) => uri === 'skill://b/team/walk/SKILL.md')
    while (!(await isThere())) await new Promise(resolve => setTimeout(resolve, 10))
  })

import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { COMMANDS, isGroup, nameOf } from '../../src/cli/all-verbs.js'

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url)
const pages = readdirSync(at('docs'))
  .filter(name => name.endsWith('.md'))
  .map(name => `docs/${name}`)
const docs = ['README.md', ...pages].map(page => readFileSync(at(page), 'utf8')).join('\n')

t.test('the docs have every verb', async t => {
  for (const command of COMMANDS) {
    const name = nameOf(command)
    t.match(docs, new RegExp(`mcp-proxy ${name}\\b|\`${name}[ \`]`), name)
    for (const verb of isGroup(command) ? command.verbs : [])
      t.match(
        docs,
        new RegExp(`${name} (?:[\\w\\\\]+\\|)*${nameOf(verb).split(' ').at(-1)}\\b`),
        nameOf(verb),
      )
  }
})

/** The names of all members that a schema knows. */
const keysIn = (schema: unknown): readonly string[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'properties' in schema ? Object.keys(schema.properties as object) : []
  return [...own, ...Object.values(schema).flatMap(keysIn)]
}

t.test('the docs have every key of the configuration', async t => {
  const keys = new Set(keysIn(JSON.parse(readFileSync(at('config/mcp-proxy.schema.json'), 'utf8'))))
  t.ok(keys.size > 100)
  for (const key of keys) t.match(docs, new RegExp(`[\`"._|]${key.replaceAll('$', '\\$')}[\`"(.:|]`), key)
})

t.test('the package has what the docs of observability name', async t => {
  const { files } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  for (const file of ['config/grafana-dashboard.json', 'config/alerts.yaml', 'dist']) {
    t.ok(files.includes(file), file)
    t.ok(file === 'dist' || docs.includes(file), file)
  }
})

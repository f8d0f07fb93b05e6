import fc from 'fast-check'
import t from 'tap'
import { ToolRanking } from '../../src/search/rank.js'
import { type SearchedTool, ToolIndex } from '../../src/search/tool-index.js'

const tool = (name: string, description = '', schema: unknown = {}): SearchedTool => ({
  name,
  title: undefined,
  description,
  schema,
})

const GITHUB = [
  tool('create_pull_request', 'Create a new pull request. Needs a branch.'),
  tool('list_issues', 'List the issues of a repository.'),
  tool('delete_branch', 'Delete a branch.', { properties: { force: { description: 'Even if unmerged' } } }),
]
const SLACK = [tool('post_message', 'Send text to a channel.'), tool('list_channels', 'List channels.')]

const ranking = (...parts: readonly (readonly [string, readonly SearchedTool[]])[]) => {
  const names = parts.flatMap(([server, tools]) => tools.map(({ name }) => `${server}/${name}`))
  const ranked = new ToolRanking(
    parts.map(([server, tools]) => new ToolIndex(tools, server)),
    at => names[at] ?? '',
  )
  return (query: string, also: readonly string[] = [], limit = 5) =>
    ranked.find({ query, also, limit }).map(at => names[at])
}

const find = ranking(['github', GITHUB], ['slack', SLACK])

t.test('a tool is found by its name, its description, its arguments and its server', t => {
  t.equal(find('create pull request')[0], 'github/create_pull_request')
  t.equal(find('send text')[0], 'slack/post_message')
  t.equal(find('unmerged')[0], 'github/delete_branch')
  t.strictSame(find('slack').sort(), ['slack/list_channels', 'slack/post_message'])
  t.end()
})

t.test('a tool is found by related words', t => {
  t.equal(find('open a PR')[0], 'github/create_pull_request')
  t.equal(find('erase')[0], 'github/delete_branch')
  t.end()
})

t.test('common words count less than others', t => {
  const said = ranking(['a', [tool('x', 'Whatever people say.')]], ['b', [tool('y', 'Whatever zebras say.')]])
  t.strictSame(said('people zebras'), ['b/y', 'a/x'])
  t.end()
})

t.test('among equal tools, the server with more matching tools comes first', t => {
  const garden = [tool('plant', 'Of the garden.'), tool('dig', 'Digs.')]
  const both = ranking(['attic', [tool('dig', 'Digs.')]], ['shed', garden])
  t.strictSame(both('garden digging'), ['shed/plant', 'shed/dig', 'attic/dig'])
  t.end()
})

t.test('unknown words and empty questions find nothing', t => {
  t.strictSame(find('xyzzy'), [])
  t.strictSame(find('of the'), [])
  t.strictSame(find('', ['xyzzy', '']), [])
  t.end()
})

t.test('other wordings find tools that the question misses', t => {
  t.notOk(find('plugh').includes('slack/post_message'))
  t.equal(find('plugh', ['send message', 'post in channel'])[0], 'slack/post_message')
  t.end()
})

t.test('an exact name in the query stays first, with any other wordings', t => {
  const also = ['list channels', 'show rooms', 'all channels', 'conversations']
  t.equal(find('list issues', also)[0], 'github/list_issues')
  t.end()
})

t.test('equal tools are sorted by name and limited to the requested number', t => {
  const same = ranking(...['b', 'd', 'a', 'c'].map(server => [server, [tool('run')]] as const))
  t.strictSame(same('run', [], 3), ['a/run', 'b/run', 'c/run'])
  t.end()
})

t.test('a tool with many functions is found by the values of its arguments', t => {
  const action = { enum: ['archive', 'rename', 7, null] }
  const many = tool('repo_write', 'Write operations.', { properties: { action } })
  const ask = ranking(['x', [many, tool('repo_read', 'Read operations.')]])
  t.equal(ask('archive the repository')[0], 'x/repo_write')
  t.strictSame(ask('archive'), ['x/repo_write'])
  t.end()
})

t.test('arguments are indexed to depth 3, and any schema is accepted', t => {
  const nest = (depth: number): object =>
    depth === 0 ? {} : { properties: { [`level${'abcd'[depth]}`]: nest(depth - 1) } }
  const deep = ranking(['s', [tool('t', '', { properties: { list: { items: nest(2) } } })]])
  t.equal(deep('levelc').length, 1)
  for (const schema of [undefined, null, 7, [], { properties: [] }, { properties: { a: true } }])
    t.equal(ranking(['s', [tool('t', '', schema)]])('t').length, 1)
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`n${'x'.repeat(at % 30)}`, {}]))
  t.equal(ranking(['s', [tool('t', 'y'.repeat(10_000), { properties: wide })]])('t').length, 1)
  t.end()
})

t.test('every question returns existing tools, each once, and the same ones again', t => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string(), { maxLength: 4 }), (query, also) => {
      const found = find(query, also)
      t.equal(new Set(found).size, found.length)
      t.ok(found.every(name => name !== undefined))
      t.strictSame(find(query, also), found)
    }),
  )
  t.end()
})

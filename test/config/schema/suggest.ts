import t from 'tap'
import { KEYS } from '../../../src/config/schema/keys.generated.js'
import { editDistance, suggest } from '../../../src/config/schema/suggest.js'

t.test('a near miss of a key is recognised', async t => {
  const table: Record<string, string> = {
    comand: 'command',
    commnad: 'command',
    Command: 'command',
    arg: 'args',
    arsg: 'args',
    enviroment: 'undefined',
    header: 'headers',
    url_: 'url',
    URL: 'url',
    sharring: 'sharing',
    timeouts_: 'timeouts',
    'x-mcpproxy': 'x-mcp-proxy',
    prefx: 'prefix',
    disable: 'disabled',
    completelyDifferent: 'undefined',
    z: 'undefined',
    ['c'.repeat(100_000)]: 'undefined',
  }
  for (const [word, meant] of Object.entries(table))
    t.equal(String(suggest(word, KEYS.server)), meant, word.slice(0, 20))
  t.equal(suggest('mcpServer', KEYS.root), 'mcpServers')
  t.equal(suggest('mcp_servers', KEYS.root), 'mcpServers')
  t.equal(suggest('anything', []), undefined)
})

t.test('of several words that are near, the nearest is meant, and the first of those', async t => {
  t.equal(suggest('serach', ['searches', 'search', 'sear', 'serah']), 'search')
  t.equal(suggest('get_isue', ['get_issues', 'get_issue', 'getissue']), 'get_issue')
  t.equal(editDistance('kitten', 'sitting', 3), 3)
  t.equal(editDistance('kitten', 'tables', 2), Number.POSITIVE_INFINITY)
})

t.test('every key is what it suggests itself', async t => {
  for (const keys of Object.values(KEYS)) for (const key of keys) t.equal(suggest(key, keys), key)
})

t.test('a distance counts added, removed, replaced and swapped letters', async t => {
  const table: [string, string, number][] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['abc', 'abc', 0],
    ['abc', 'abd', 1],
    ['abc', 'acb', 1],
    ['abc', 'ab', 1],
    ['kitten', 'sitting', 3],
  ]
  for (const [from, to, distance] of table) t.equal(editDistance(from, to), distance, `${from} ${to}`)
})

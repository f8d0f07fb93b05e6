import fc from 'fast-check'
import t from 'tap'
import {
  isNamedPipe,
  parseSocketUrl,
  socketPathOf,
  socketUrlOf,
} from '../../../src/kernel/machine/socket-path.js'

t.test('the address of a socket leads to its path, and anything else to nothing', async t => {
  const rows: readonly (readonly [url: string, path: string | undefined])[] = [
    ['unix:///run/mcp.sock', '/run/mcp.sock'],
    ['unix:/run/mcp.sock', '/run/mcp.sock'],
    ['UNIX:///run/my%20sock', '/run/my sock'],
    ['pipe:///my%20pipe', '\\\\.\\pipe\\my pipe'],
    ['unix://host/run/mcp.sock', undefined],
    ['unix:run/mcp.sock', undefined],
    ['unix:///run/%00', undefined],
    ['unix:///run/x?mode=1', undefined],
    ['pipe:///a%5cb', undefined],
    ['http://localhost', undefined],
    ['/run/mcp.sock', undefined],
    ['pipe:///pipe/mcp', '\\\\.\\pipe\\mcp'],
    ['pipe:///pipe/a/b', undefined],
    ['unix:///run/mcp.sock#', undefined],
    ['unix:///run/mcp.sock#/mcp', undefined],
  ]
  for (const [url, path] of rows) t.equal(socketPathOf(url), path, url)
})

t.test('what follows # in the address of a socket is the target of HTTP requests', async t => {
  const rows: readonly (readonly [url: string, target: string | undefined])[] = [
    ['unix:///run/x.sock#/mcp', '/mcp'],
    ['unix:/run/x.sock#/mcp', '/mcp'],
    ['UNIX:///run/x.sock#/MCP', '/MCP'],
    ['unix:///run/x.sock#', '/'],
    ['unix:///run/x.sock#/', '/'],
    ['unix:///run/x.sock#mcp', '/mcp'],
    ['unix:///run/x.sock#?k=v', '/?k=v'],
    ['unix:///run/x.sock#/deep/er%20x?k=v', '/deep/er%20x?k=v'],
    ['unix:///run/x.sock#/a#b', '/a%23b'],
    ['unix:///run/x.sock#//other.example/x', '//other.example/x'],
    ['unix:///run/x.sock#@other.example/x', '/@other.example/x'],
    ['unix:///run/x.sock', undefined],
  ]
  for (const [url, target] of rows) {
    const { path, httpUrl } = parseSocketUrl(url) ?? {}
    t.equal(path, '/run/x.sock', url)
    t.equal(httpUrl, target && `http://localhost${target}`, url)
  }
  t.equal(socketUrlOf('/a b.sock', 'http://localhost/mcp?k=v'), 'unix:///a%20b.sock#/mcp?k=v')
  t.match(parseSocketUrl('pipe:///x#/mcp'), { path: '\\\\.\\pipe\\x', httpUrl: 'http://localhost/mcp' })
})

t.test('the address of a path is one that a person can read', async t => {
  t.equal(socketUrlOf('/run/user/1000/mcp.sock'), 'unix:///run/user/1000/mcp.sock')
  t.equal(socketUrlOf('/a b/50%?#@+.sock'), 'unix:///a%20b/50%25%3F%23@+.sock')
  t.equal(socketUrlOf('\\\\.\\pipe\\mcp'), 'pipe:///mcp')
})

t.test('every path is found again by its address', async t => {
  const word = fc.string({ unit: 'grapheme', minLength: 1 }).filter(text => !/[/\\\0]/.test(text))
  const path = fc.array(word, { minLength: 1, maxLength: 4 }).map(words => `/${words.join('/')}`)
  const paths = fc.property(path, text => socketPathOf(socketUrlOf(text)) === text && !isNamedPipe(text))
  t.doesNotThrow(() => fc.assert(paths))
  const pipe = word.map(name => `\\\\.\\pipe\\${name}`)
  const pipes = fc.property(pipe, text => socketPathOf(socketUrlOf(text)) === text && isNamedPipe(text))
  t.doesNotThrow(() => fc.assert(pipes))
})

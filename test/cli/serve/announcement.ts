import t from 'tap'
import { addressesOf, addressSnippets, listeningLines } from '../../../src/cli/serve/announcement.js'

const HTTP = {
  url: 'http://127.0.0.1:1/mcp',
  sseUrl: 'http://127.0.0.1:1/sse',
  wsUrl: 'ws://127.0.0.1:1/ws',
}
const ALL = [
  'mcp-proxy listening on http://127.0.0.1:1/mcp',
  'mcp-proxy listening on http://127.0.0.1:1/sse (HTTP+SSE)',
  'mcp-proxy listening on ws://127.0.0.1:1/ws (WebSocket)',
  'mcp-proxy listening on unix:///run/my%20x.sock',
]

t.test('every address has a line, and the first line is only its URL', async t => {
  const lines = (...args: Parameters<typeof addressesOf>) => listeningLines(addressesOf(...args)).split('\n')
  t.same(lines(HTTP, '/run/my x.sock'), ALL)
  t.same(lines({ ...HTTP, sseUrl: undefined, wsUrl: undefined }, undefined), [ALL[0]])
  t.same(lines(undefined, '/run/my x.sock'), [ALL[3]])
  t.same(lines(undefined, '\\\\.\\pipe\\mcp'), ['mcp-proxy listening on pipe:///mcp'])
  t.same(lines(HTTP, undefined, 'ws'), [
    'mcp-proxy listening on ws://127.0.0.1:1/ws',
    'mcp-proxy listening on http://127.0.0.1:1/mcp (Streamable HTTP)',
    ALL[1],
  ])
  t.same(lines(HTTP, '/run/my x.sock', 'sse'), [
    'mcp-proxy listening on http://127.0.0.1:1/sse',
    'mcp-proxy listening on http://127.0.0.1:1/mcp (Streamable HTTP)',
    ALL[2],
    ALL[3],
  ])
})

t.test('snippets are for what a client can be told', async t => {
  const both = addressSnippets('x', addressesOf(HTTP, undefined))
  t.match(both, `claude mcp add --transport http x ${HTTP.url}\n`)
  t.match(both, `claude mcp add --transport sse x ${HTTP.sseUrl}`)
  t.match(both, '"type": "http"')
  t.notMatch(both, '"type": "sse"')
  t.notMatch(both, 'ws://')
  const sse = addressSnippets('x', addressesOf(HTTP, undefined, 'sse'))
  t.ok(sse.indexOf('--transport sse') < sse.indexOf('--transport http'), 'what was asked for comes first')
  t.match(sse, '"type": "sse"')
  const socket = addressSnippets('x', addressesOf(undefined, '/run/x.sock'))
  const entry = JSON.parse(socket.slice(socket.indexOf('{'))).mcpServers.x
  t.same(entry.args.slice(1), ['bridge', '--to', 'stdio', 'unix:///run/x.sock'])
  t.notMatch(socket, 'claude')
  t.equal(addressSnippets('x', [{ way: 'ws', url: 'ws://h/ws' }]), '')
})

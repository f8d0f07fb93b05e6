import t from 'tap'
import { endpointPath, parseEndpointPath, referenceFrom } from '../../../src/wire/http/endpoint-path.js'

t.test('a slash at the end of an endpoint has no meaning', async t => {
  const table: [path: string, endpoint?: string, view?: string][] = [
    ['/mcp', '/mcp'],
    ['/mcp/', '/mcp'],
    ['/sse/', '/sse'],
    ['/messages/', '/messages'],
    ['/ws/', '/ws'],
    ['/mcp/web', '/mcp', 'web'],
    ['/ws/web/', '/ws', 'web'],
    ['/mcp//'],
    ['/mcp/web//'],
    ['/mcp/web/x'],
    ['/mcp/server-card'],
    ['/mcp/server-card/'],
    ['/mcp/web/server-card'],
    ['/servers/a/mcp/server-card'],
    ['/mcp/server-cards', '/mcp', 'server-cards'],
    ['/mcpx'],
    ['/'],
    [''],
    ['//mcp'],
    ['/MCP'],
  ]
  for (const [path, endpoint, view] of table)
    t.same(parseEndpointPath(path), endpoint && { endpoint, view }, path)
  t.equal(endpointPath('/ws', 'web'), '/ws/web')
})

t.test('a reference leads from one path to another, whatever both are below', async t => {
  const paths = [
    '/sse',
    '/sse/',
    '/sse/web',
    '/sse/web/',
    '/servers/a/sse',
    '/messages',
    '/messages/web',
    '/',
  ]
  for (const from of paths)
    for (const to of paths.filter(path => !path.endsWith('/')))
      for (const base of ['http://h', 'http://h/tools', 'http://h/a/b'])
        t.equal(new URL(referenceFrom(from, to), base + from).href, base + to, `${from} to ${to}`)
})

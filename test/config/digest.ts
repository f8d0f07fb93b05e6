import t from 'tap'
import { configDigest } from '../../src/config/digest.js'
import { parseConfig } from '../../src/config/parse.js'

const digestOf = (file: string, server: object): string => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: server } }), file, {})
  if (config === undefined) throw new Error('the file is not valid')
  return configDigest(config)
}

t.test('replicas with a file each have one configuration, wherever the files lie', async t => {
  const server = { command: 'node', args: ['/srv/server.mjs'] }
  const digest = digestOf('/etc/one/mcp.json', server)
  t.equal(digestOf('/etc/two/mcp.json', server), digest)
  t.not(digestOf('/etc/one/mcp.json', { ...server, args: [] }), digest)
  const [one, two] = ['/srv/one', '/srv/two'].map(cwd => digestOf('/etc/mcp.json', { ...server, cwd }))
  t.not(one, two)
})

import { resolve } from 'node:path'
import t from 'tap'
import type { Loose } from '../support/client/raw-client.js'
import { stdioParameters } from '../support/client/sdk-transports.js'
import { configured, pidAt, placeFor } from '../support/proxy/shared-daemon.js'
import { BIN } from '../support/proxy/start.js'

// Clients of every age start the shim as they start any server on stdio.

/** A client of some SDK, as far as all of them have it. */
interface OldClient {
  connect(transport: unknown): Promise<void>
  listTools(): Promise<Loose>
  callTool(params: object): Promise<Loose>
  close(): Promise<void>
}

type Part = () => Promise<Readonly<Record<string, unknown>>>
type Maker = new (options: object, more?: object) => OldClient

const v1 =
  (client: Part, stdio: Part): Part =>
  async () => ({ ...(await client()), ...(await stdio()) })

const SDKS: Readonly<Record<string, Part>> = {
  '1.0.4': v1(
    () => import('sdk-1.0.4/client/index.js'),
    () => import('sdk-1.0.4/client/stdio.js'),
  ),
  '1.7.0': v1(
    () => import('sdk-1.7.0/client/index.js'),
    () => import('sdk-1.7.0/client/stdio.js'),
  ),
  '1.13.3': v1(
    () => import('sdk-1.13.3/client/index.js'),
    () => import('sdk-1.13.3/client/stdio.js'),
  ),
  '1.20.2': v1(
    () => import('sdk-1.20.2/client/index.js'),
    () => import('sdk-1.20.2/client/stdio.js'),
  ),
  '1.32.2': v1(
    () => import('@modelcontextprotocol/sdk/client/index.js'),
    () => import('@modelcontextprotocol/sdk/client/stdio.js'),
  ),
  '2.4.0': v1(
    () => import('@modelcontextprotocol/client'),
    () => import('@modelcontextprotocol/client/stdio'),
  ),
}

t.test('clients of every age list and call through one daemon, also after that was killed', async t => {
  const file = configured(t)
  const options = stdioParameters([process.execPath, resolve(BIN, '../connect.cjs'), '--config', file])
  const clients = await Promise.all(
    Object.entries(SDKS).map(async ([version, load]) => {
      const parts = await load()
      const { Client, StdioClientTransport } = parts as { Client: Maker; StdioClientTransport: Maker }
      const client = new Client({ name: version, version }, { capabilities: {} })
      await client.connect(new StdioClientTransport(options))
      t.teardown(() => client.close())
      return [version, client] as const
    }),
  )
  for (const round of ['before', 'after']) {
    const pids = await Promise.all(
      clients.map(async ([version, client]) => {
        const { tools } = await client.listTools()
        t.match(tools, [{ name: 'w__wait' }], `${version}: lists`)
        const { content } = await client.callTool({ name: 'w__wait', arguments: { note: version } })
        const { note, pid } = JSON.parse(content[0].text)
        t.equal(note, version, `${version}: calls`)
        return pid
      }),
    )
    t.equal(new Set(pids).size, 1, 'one server for all of them')
    if (round === 'after') return
    const { socket } = placeFor(file)
    process.kill((await pidAt(socket)) ?? 0, 'SIGKILL')
  }
})

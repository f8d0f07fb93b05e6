// Clients with the TypeScript SDK, as users have them; they count received progress.
import { FAULTS, noFaults } from './session.js'

const NOTHING = { name: 'bench', version: '1' }

const SDK_2 = {
  client: async () => (await import('@modelcontextprotocol/client')).Client,
  http: async () => (await import('@modelcontextprotocol/client')).StreamableHTTPClientTransport,
  sse: async () => (await import('@modelcontextprotocol/client')).SSEClientTransport,
  stdio: async () => (await import('@modelcontextprotocol/client/stdio')).StdioClientTransport,
  call: (client, params, options) => client.callTool(params, options),
}

const VERSIONS = {
  1.32: {
    client: async () => (await import('@modelcontextprotocol/sdk/client/index.js')).Client,
    http: async () =>
      (await import('@modelcontextprotocol/sdk/client/streamableHttp.js')).StreamableHTTPClientTransport,
    sse: async () => (await import('@modelcontextprotocol/sdk/client/sse.js')).SSEClientTransport,
    stdio: async () => (await import('@modelcontextprotocol/sdk/client/stdio.js')).StdioClientTransport,
    call: (client, params, options) => client.callTool(params, undefined, options),
  },
  2.4: SDK_2,
  // In front of the floor, this client finds a server with a handshake.
  '2.4 of 2026-07-28': { ...SDK_2, options: { versionNegotiation: { mode: 'auto' } } },
}

const transportOf = async (sdk, { transport, url, command, env }) => {
  const Transport = await sdk[transport]()
  if (transport !== 'stdio') return new Transport(new URL(url))
  const [program, ...args] = command
  return new Transport({ command: program, args, env: { ...process.env, ...env }, stderr: 'ignore' })
}

/**
 * Connects a client of a `version` to a target. `run(calls, notices)` makes sequential calls and resolves
 * with the milliseconds of each and the faults.
 */
export async function sdkClient(version, target) {
  const sdk = VERSIONS[version]
  const Client = await sdk.client()
  const client = new Client(NOTHING, sdk.options)
  await client.connect(await transportOf(sdk, target))
  const one = async (tag, notices, faults) => {
    let heard = 0
    const onprogress = ({ progress }) => {
      heard += 1
      if (progress !== heard) faults.unordered += 1
    }
    const args = { tag, size: 20, ...(notices > 0 && { notices }), padding: 'lorem ipsum dolor sit amet' }
    const from = performance.now()
    const result = await sdk.call(
      client,
      { name: 'make', arguments: args },
      notices > 0 ? { onprogress } : {},
    )
    const ms = performance.now() - from
    if (!result.content[0].text.startsWith(`${tag} `)) faults.wrong += 1
    if (heard !== notices) faults.missing += 1
    return ms
  }
  return {
    async run(calls, notices) {
      const [took, faults] = [[], noFaults()]
      for (let n = 0; n < calls; n += 1) took.push(await one(`c${n}`, notices, faults))
      return { took, faults: Object.fromEntries(FAULTS.map(kind => [kind, faults[kind]])) }
    },
    close: () => client.close(),
  }
}

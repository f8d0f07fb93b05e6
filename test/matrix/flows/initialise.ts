import assert from 'node:assert/strict'
import type { Flow } from '../../support/matrix.js'

/**
 * A client is answered in the revision it offers, with the capabilities that the proxy vouches for, its
 * name, and the instructions of the server.
 */
export const initialise: Flow = {
  title: 'the handshake agrees on the revision, capabilities and names',
  run: async ({ pair, client, wire }) => {
    const [answer] = wire.heard
    assert.equal(answer?.result.protocolVersion, pair.clientRevision)
    assert.deepEqual(client.getServerCapabilities(), {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      ...(pair.clientRevision >= '2025-03-26' && { completions: {} }),
      logging: {},
    })
    assert.equal(client.getServerVersion()?.name, 'mcp-proxy')
    assert.match(client.getInstructions() ?? '', /I am the matrix/)
  },
}

import assert from 'node:assert/strict'
import { type Flow, MODERN } from '../../support/matrix.js'

/**
 * A client is answered in the revision it offers, with the capabilities that the proxy vouches for, its
 * name, and the instructions of the server; with the revision that knows no handshake, when it asks what there is.
 */
export const initialise: Flow = {
  title: 'the handshake agrees on the revision, capabilities and names',
  run: async ({ pair, client, wire }) => {
    const [answer] = wire.heard
    if (pair.clientRevision === MODERN) assert.deepEqual(answer?.result.supportedVersions, [MODERN])
    else assert.equal(answer?.result.protocolVersion, pair.clientRevision)
    assert.deepEqual(client.capabilities, {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      ...(pair.clientRevision >= '2025-03-26' && { completions: {} }),
      logging: {},
    })
    assert.equal(client.serverName, 'mcp-proxy')
    assert.match(client.instructions ?? '', /I am the matrix/)
  },
}

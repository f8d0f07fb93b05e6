/** What every request of 2026-07-28 says about itself. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
} as const

/** A request of 2026-07-28, with more in its `params` and `_meta`. */
export const modern = (id: unknown, method: string, params: object = {}, meta: object = {}) => ({
  id,
  method,
  params: { ...params, _meta: { ...ENVELOPE, ...meta } },
})

/** The headers that repeat what such a request says. */
export const mirrored = (message: { method: string; params: object }): Record<string, string> => {
  const { name, uri, _meta } = message.params as { name?: string; uri?: string; _meta: typeof ENVELOPE }
  const named = message.method === 'resources/read' ? uri : name
  return {
    'mcp-protocol-version': _meta['io.modelcontextprotocol/protocolVersion'],
    'mcp-method': message.method,
    ...(['tools/call', 'prompts/get', 'resources/read'].includes(message.method) &&
      named !== undefined && { 'mcp-name': named }),
  }
}

/** Transports of servers by their names in entries; `remote` leaves the choice to the address. */
export type TransportType = 'stdio' | 'http' | 'sse' | 'ws' | 'remote'

/** Spellings of clients, in lower case, without separators. */
const SPELLINGS: ReadonlyMap<string, TransportType> = new Map(
  (
    [
      ['stdio', 'stdio local command'],
      ['http', 'http https streamablehttp streamable streaminghttp httpstream httpstreaming httpstreamable'],
      ['sse', 'sse httpsse serversentevents'],
      ['ws', 'ws wss websocket websockets'],
      // `url` is the name in Anthropic's API.
      ['remote', 'remote url'],
    ] as const
  ).flatMap(([type, names]) => names.split(' ').map(name => [name, type] as const)),
)

/**
 * Reads the name of a transport in any client's spelling, such as `streamable_http`, `StreamableHttp` or
 * `local`; undefined for an unknown name.
 */
export const transportTypeOf = (name: string): TransportType | undefined =>
  SPELLINGS.get(name.toLowerCase().replace(/[\s_+/-]/g, ''))

import type { Server } from '../peers/server.js'

/** How one server is, for people and programs. */
export interface ServerStatus {
  readonly name: string
  readonly alias: string
  readonly state: 'idle' | 'starting' | 'ready' | 'backoff'
  readonly revision: string | undefined
  readonly connections: number
  /** Why it is not reachable. */
  readonly why: string | undefined
}

const ORDER = ['ready', 'starting', 'backoff', 'idle'] as const

/** The best state of any connection to the server. */
export const serverStatus = (server: Server): ServerStatus => {
  const states = [...server.connections].map(({ state }) => state)
  const best = ORDER.map(at => states.find(state => state.at === at)).find(state => state !== undefined)
  return {
    name: server.name,
    alias: server.options.alias,
    state: best?.at ?? 'idle',
    revision: server.facts?.revision,
    connections: states.length,
    why: best?.at === 'backoff' ? best.why.message : undefined,
  }
}

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** Stands between two that talk over TCP, and does to them what networks do. */
export interface TcpProxy {
  readonly port: number
  /** `open`: passes all on; `cut`: refuses and resets; `silent`: takes all, and passes nothing on. */
  mode: 'open' | 'cut' | 'silent'
  /** How many connections are there. */
  readonly connections: number
  /** From now on nothing passes over the connections that are open; those that come are as `mode` says. */
  forget(): void
  /** Resets all connections. */
  reset(): void
}

/** Starts one; it ends with the test. */
export const startTcpProxy = async (t: Test, to: number): Promise<TcpProxy> => {
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket; isForgotten: boolean }>()
  let mode: TcpProxy['mode'] = 'open'
  const reset = (): void => {
    for (const { near, far } of pairs) for (const socket of [near, far]) socket.resetAndDestroy()
  }
  const server = createServer(near => {
    if (mode === 'cut') {
      near.resetAndDestroy()
      return
    }
    const far = connect(to, '127.0.0.1')
    const pair = { near, far, isForgotten: mode === 'silent' }
    pairs.add(pair)
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', chunk => {
        // What was left out once makes nonsense of what follows.
        pair.isForgotten ||= mode === 'silent'
        if (!pair.isForgotten) other.write(chunk)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        pairs.delete(pair)
        other.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    reset()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    get mode() {
      return mode
    },
    set mode(next) {
      mode = next
      if (next === 'cut') reset()
    },
    get connections() {
      return pairs.size
    },
    forget() {
      for (const pair of pairs) pair.isForgotten = true
    },
    reset,
  }
}

import type { Test } from 'tap'
import { startTcpProxy as start, type TcpProxy } from '../fixtures/tcp-proxy.mjs'

export type { TcpProxy } from '../fixtures/tcp-proxy.mjs'

/** Starts a TCP proxy that ends with the test. */
export const startTcpProxy = async (t: Test, to: number): Promise<TcpProxy> => {
  const proxy = await start(to)
  t.teardown(() => proxy.close())
  return proxy
}

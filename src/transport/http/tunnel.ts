import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import type { Fault } from '../../kernel/faults.js'
import type { ForwardProxy } from '../../kernel/machine/forward-proxy.js'
import { bracketedHost } from '../../kernel/url-address.js'
import { proxyFault, proxyStatusFault } from './faults.js'
import { proxyAddress } from './proxy-address.js'

/** The host and port at the other end of a tunnel. */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
}

/**
 * Opens a connection to a host through a proxy (CONNECT, RFC 9110 §9.3.6), within `ms`. Rejects with a Fault
 * that names the proxy and its setting.
 */
export const openTunnel = (proxy: ForwardProxy, target: TunnelTarget, ms: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { protocol, host, port, headers } = proxyAddress(proxy)
    const to = `${bracketedHost(target.host)}:${target.port}`
    const send = protocol === 'https:' ? requestHttps : requestHttp
    const options = {
      method: 'CONNECT',
      host,
      port,
      path: to,
      headers: { ...headers, host: to },
      agent: false,
    }
    const request = send(options)
    const fail = (fault: Fault): void => {
      clearTimeout(timer)
      request.destroy()
      reject(fault)
    }
    const timer = setTimeout(() => fail(proxyFault(new TimedOut(), proxy)), ms)
    request.on('error', error => fail(proxyFault(error, proxy)))
    request.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      if (statusCode < 200 || statusCode > 299) {
        fail(proxyStatusFault(statusCode, proxy, to))
        return
      }
      clearTimeout(timer)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    request.end()
  })

class TimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

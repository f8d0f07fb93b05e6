import { resolve } from 'node:path'
import type { AuthConfig, ListenConfig } from '../../config/types.js'
import { type Cause, cause, explain } from '../../diagnostics/explain.js'
import { isLoopbackHost, isWildcardHost } from '../../kernel/loopback.js'
import { isNamedPipe, socketPathOf } from '../../kernel/machine/socket-path.js'
import { bareHost } from '../../kernel/url-address.js'
import { printToStderr } from './output/output.js'
import { CliError, EXIT, textOption, textsOption } from './verb.js'

export const listenOptions = {
  host: textOption('The address to listen on'),
  port: textOption('The port to listen on; 0 for any free one'),
  socket: textOption('A unix domain socket or named pipe to listen on: a path, unix:///PATH or pipe:///NAME'),
  'allow-remote': {
    type: 'boolean',
    describe: 'Listen on an address that other machines can reach, although there is no "auth"',
  },
  'allowed-host': textsOption('A Host that clients may use besides localhost; may be repeated'),
} as const

export interface ListenFlags {
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly socket?: string | undefined
  readonly allowRemote?: boolean | undefined
  readonly allowedHost?: readonly string[] | undefined
}

const PORT_MAX = 65_535

/**
 * Resolves the listen address. Flags override the file; `--host` or `--port` enables HTTP. Throws a CliError
 * for an invalid port or socket, or for a remote address without `--allow-remote` or a public URL.
 */
export const resolveListen = (
  configured: ListenConfig,
  flags: ListenFlags,
  auth?: AuthConfig,
): ListenConfig => {
  const host = bareHost(flags.host ?? configured.host)
  const port = flags.port === undefined ? configured.port : readPort(flags.port)
  const allowedHosts = [...configured.allowedHosts, ...(flags.allowedHost ?? [])]
  const http = configured.http || flags.host !== undefined || flags.port !== undefined
  const socket = flags.socket === undefined ? configured.socket : readSocket(flags.socket)
  if (http && !isLoopbackHost(host)) {
    if (flags.allowRemote !== true) checkGuarded(host, auth)
    checkNames(host, allowedHosts, auth)
  }
  return { ...configured, http, host, port, allowedHosts, socket }
}

const readSocket = (text: string): string => {
  const path = socketPathOf(text)
  if (path !== undefined) return path
  if (text === '' || /^(?:unix|pipe):/i.test(text)) {
    throw new CliError(EXIT.usage, '--socket must be a path, unix:///PATH or pipe:///NAME')
  }
  return isNamedPipe(text) ? text : resolve(text)
}

/** Parses a port. Throws a CliError. */
export const readPort = (text: string): number => {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= PORT_MAX) return port
  throw new CliError(EXIT.usage, `--port must be a number from 0 to ${PORT_MAX}, not "${text}"`)
}

const addressError = (code: number, found: Cause): CliError => {
  const address = explain(found)
  return new CliError(code, `${address.message}: ${address.fix}`, { address })
}

const checkGuarded = (host: string, auth: AuthConfig | undefined): void => {
  if (auth !== undefined) return
  throw addressError(EXIT.usage, cause('cli.open-address', { host }))
}

/** Without `publicUrl`, the listen address is the only host name that clients are known to use. */
const checkNames = (host: string, allowedHosts: readonly string[], auth: AuthConfig | undefined): void => {
  if (auth?.publicUrl !== undefined) return
  if (auth !== undefined && (auth.issuers.length > 0 || auth.embedded !== undefined)) {
    throw addressError(EXIT.configuration, cause('cli.no-public-url', { host }))
  }
  if (isWildcardHost(host) && allowedHosts.length === 0) {
    printToStderr(
      `mcp-proxy: only requests to localhost will be answered on ${host}; name other hosts in ` +
        'listen.allowedHosts or with --allowed-host',
    )
  }
}

import { fileURLToPath } from 'node:url'
import { packageFile } from '../../kernel/machine/package-file.js'
import { socketUrlOf } from '../../kernel/machine/socket-path.js'

/** A transport of a listen address. */
export type ClientSnippet = 'http' | 'sse' | 'ws' | 'unix'

/** An address to announce to clients. */
export interface ListenAddress {
  readonly way: ClientSnippet
  readonly url: string
}

interface HttpUrls {
  readonly url: string
  readonly sseUrl: string | undefined
  readonly wsUrl: string | undefined
}

/** Returns all addresses of an HTTP port and a socket, the transport `first` first. */
export const addressesOf = (
  http: HttpUrls | undefined,
  socketPath: string | undefined,
  first: ClientSnippet = 'http',
): readonly ListenAddress[] => {
  const all: readonly (readonly [ClientSnippet, string | undefined])[] = [
    ['http', http?.url],
    ['sse', http?.sseUrl],
    ['ws', http?.wsUrl],
    ['unix', socketPath === undefined ? undefined : socketUrlOf(socketPath)],
  ]
  const found = all.flatMap(([way, url]) => (url === undefined ? [] : [{ way, url }]))
  return [...found.filter(({ way }) => way === first), ...found.filter(({ way }) => way !== first)]
}

const LABELS: Readonly<Record<ClientSnippet, string>> = {
  http: ' (Streamable HTTP)',
  sse: ' (HTTP+SSE)',
  ws: ' (WebSocket)',
  unix: '',
}

/**
 * Formats the stdout lines for these addresses. The first line ends with its URL, for programs that parse it.
 */
export const listeningLines = (addresses: readonly ListenAddress[]): string =>
  addresses
    .map(({ way, url }, index) => `mcp-proxy listening on ${url}${index === 0 ? '' : LABELS[way]}`)
    .join('\n')

const script = fileURLToPath(packageFile('bin/mcp-proxy.js'))

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** Formats client configuration snippets for these addresses, mostly for the first. */
export const addressSnippets = (name: string, addresses: readonly ListenAddress[]): string => {
  const known = addresses.filter(({ way }) => way === 'http' || way === 'sse')
  const parts = known.map(({ way, url }, index) =>
    index === 0 ? urlSnippets(name, way, url) : claudeSnippet(name, way, url),
  )
  const socket = addresses.find(({ way }) => way === 'unix')
  if (socket !== undefined) {
    parts.push(stdioSnippet(name, ['bridge', '--to', 'stdio', socket.url], 'through the socket'))
  }
  return parts.join('\n\n')
}

const CLAUDE_HEADINGS: Readonly<Record<string, string>> = { sse: 'Claude Code, over HTTP+SSE:' }

const claudeSnippet = (name: string, type: string, url: string): string =>
  [CLAUDE_HEADINGS[type] ?? 'Claude Code:', `  claude mcp add --transport ${type} ${name} ${url}`].join('\n')

const urlSnippets = (name: string, type: string, url: string): string => {
  const entry = { [name]: { type, url } }
  return [
    claudeSnippet(name, type, url),
    '',
    'Clients with "mcpServers" (.mcp.json and others):',
    indented(json({ mcpServers: entry })),
    '',
    'VS Code (.vscode/mcp.json):',
    indented(json({ servers: entry })),
  ].join('\n')
}

/**
 * Formats a snippet for clients that start servers, with absolute paths because desktop programs lack the
 * shell's PATH.
 */
export const stdioSnippet = (name: string, args: readonly string[], how?: string): string =>
  [
    `Clients that start their servers themselves${how === undefined ? '' : `, ${how}`} ("mcpServers"):`,
    indented(json({ mcpServers: { [name]: { command: process.execPath, args: [script, ...args] } } })),
  ].join('\n')

const indented = (text: string): string => text.replace(/^/gm, '  ')

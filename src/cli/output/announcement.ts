import { fileURLToPath } from 'node:url'
import { packageFile } from '../../machine/package-file.js'
import { socketUrlOf } from '../../machine/socket-path.js'

/** A transport of an address that we listen on. */
export type Way = 'http' | 'sse' | 'ws' | 'unix'

/** An address that clients are told. */
export interface ListenAddress {
  readonly way: Way
  readonly url: string
}

interface HttpUrls {
  readonly url: string
  readonly sseUrl: string | undefined
  readonly wsUrl: string | undefined
}

/** All addresses of an HTTP port and a socket; that of the transport `first` comes first. */
export const addressesOf = (
  http: HttpUrls | undefined,
  socketPath: string | undefined,
  first: Way = 'http',
): readonly ListenAddress[] => {
  const all: readonly (readonly [Way, string | undefined])[] = [
    ['http', http?.url],
    ['sse', http?.sseUrl],
    ['ws', http?.wsUrl],
    ['unix', socketPath === undefined ? undefined : socketUrlOf(socketPath)],
  ]
  const found = all.flatMap(([way, url]) => (url === undefined ? [] : [{ way, url }]))
  return [...found.filter(({ way }) => way === first), ...found.filter(({ way }) => way !== first)]
}

const LABELS: Readonly<Record<Way, string>> = {
  http: ' (Streamable HTTP)',
  sse: ' (HTTP+SSE)',
  ws: ' (WebSocket)',
  unix: '',
}

/** The lines of stdout about them. The first ends with its URL, for programs. */
export const listeningLines = (addresses: readonly ListenAddress[]): string =>
  addresses
    .map(({ way, url }, index) => `mcp-proxy listening on ${url}${index === 0 ? '' : LABELS[way]}`)
    .join('\n')

const script = fileURLToPath(packageFile('bin/mcp-proxy.js'))

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** Snippets of client configuration for these addresses; the first gets most. */
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
 * A snippet for clients that start servers, with absolute paths: desktop programs lack the PATH of a shell.
 */
export const stdioSnippet = (name: string, args: readonly string[], how?: string): string =>
  [
    `Clients that start their servers themselves${how === undefined ? '' : `, ${how}`} ("mcpServers"):`,
    indented(json({ mcpServers: { [name]: { command: process.execPath, args: [script, ...args] } } })),
  ].join('\n')

const indented = (text: string): string => text.replace(/^/gm, '  ')

import { basename } from 'node:path'
import type { StdioTransport, UrlTransport } from '../config/types.js'
import { EXIT } from './exit-codes.js'
import { CliError } from './verb.js'

/**
 * The transport of a command that a person typed: it runs as a shell would run it, in this folder and with the whole
 * environment. Throws a CliError for a bad `--env`.
 */
export const commandTransport = (
  [command = '', ...args]: readonly string[],
  pairs: readonly string[] = [],
): StdioTransport => {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value
  for (const pair of pairs) {
    const cut = pair.indexOf('=')
    if (cut < 1) throw new CliError(EXIT.usage, '--env needs KEY=VALUE')
    env[pair.slice(0, cut)] = pair.slice(cut + 1)
  }
  return { kind: 'stdio', command, args, env, unsetEnv: [], cwd: process.cwd() }
}

/** The transport of a remote server. Throws a CliError for a bad URL or `--header`; neither is repeated in it. */
export const urlTransport = (url: string, headers: readonly string[] = []): UrlTransport => {
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol)) {
    throw new CliError(
      EXIT.usage,
      'the URL must be a whole http or https address, such as https://example.com/mcp; a command stands after --',
    )
  }
  return { kind: 'http', url, headers: Object.fromEntries(headers.map(readHeader)) }
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/

const readHeader = (text: string): [name: string, value: string] => {
  const [, name, value] = HEADER.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw new CliError(EXIT.usage, '--header needs "Name: value", without line breaks')
  }
  return [name, value.trim()]
}

const RUNNERS =
  /^(?:node|npx|npm|bunx?|deno|pnpm|yarn|uvx?|python[0-9.]*|pipx|docker|podman|sh|bash|cmd|env)$/
const RUNNER_WORDS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
const FALLBACK = 'server'

/** A name for logs, errors and snippets, after what is started or reached. */
export const bridgedName = (transport: StdioTransport | UrlTransport): string => {
  if (transport.kind !== 'stdio') return plain(new URL(transport.url).hostname)
  const words = [transport.command, ...transport.args].map(word => basename(word).replace(/\.\w{1,4}$/, ''))
  const meant = words.find(
    (word, index) =>
      !RUNNERS.test(word) && !RUNNER_WORDS.has(word) && !(transport.args[index - 1] ?? '').startsWith('-'),
  )
  return plain(meant ?? FALLBACK)
}

const plain = (text: string): string =>
  text.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || FALLBACK

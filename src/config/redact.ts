import { bareRecord } from './bare-record.js'
import { withoutDefaults } from './env.js'
import type { ProxyConfig, ServerConfig } from './types.js'

// What stands where a secret stood.
const MASK = '***'

const SECRET_NAME =
  /token|secret|passw|passphrase|credential|auth|bearer|cookie|api-?_?key|access-?_?key|private-?_?key/i
const SECRET_FLAG = /^--?[\w-]+$/

/**
 * An address for the eyes of a person: without user and password, without the values of its query, and without
 * the long segments of its path in which some hosts put a key.
 */
export function redactUrl(url: string): string {
  const parts = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url)
  if (parts === null) return MASK
  const [, scheme = '', authority = '', path = '', query, fragment] = parts
  const host = authority.includes('@')
    ? `${MASK}@${authority.slice(authority.lastIndexOf('@') + 1)}`
    : authority
  const segments = path.split('/').map(part => (part.length >= 20 && /\d/.test(part) ? MASK : part))
  return `${scheme}${host}${segments.join('/')}${query === undefined ? '' : `?${MASK}`}${fragment === undefined ? '' : `#${MASK}`}`
}

/** Arguments for the eyes of a person: what follows `--token` or `KEY=` and the like is masked. */
export function redactArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, i) => {
    const before = args[i - 1] ?? ''
    if (SECRET_FLAG.test(before) && SECRET_NAME.test(before) && !arg.startsWith('--')) return MASK
    const [name = '', ...value] = arg.split('=')
    if (value.length > 0 && SECRET_NAME.test(name)) return `${name}=${MASK}`
    if (/^[\w-]+: /.test(arg) && SECRET_NAME.test(arg.slice(0, arg.indexOf(':'))))
      return `${arg.slice(0, arg.indexOf(':'))}: ${MASK}`
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(arg) ? redactUrl(arg) : arg
  })
}

const masked = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  bareRecord(Object.keys(values).map((name): [string, string] => [name, MASK]))

/**
 * A server for the eyes of a person. Where its file is known, variables stand as they are written there, without
 * their values; every value of `env` and `headers` is masked.
 */
export function redactServer({ written = {}, ...server }: ServerConfig): ServerConfig {
  const { transport } = server
  if (transport.kind === 'socket') {
    return { ...server, transport: { ...transport, path: withoutDefaults(written.url ?? transport.path) } }
  }
  if (transport.kind !== 'stdio') {
    const url = redactUrl(withoutDefaults(written.url ?? transport.url))
    return { ...server, transport: { ...transport, url, headers: masked(transport.headers) } }
  }
  // A command may be a whole command line, if a wrong one.
  const words = withoutDefaults(written.command ?? transport.command).split(' ')
  const command = redactArgs(words).join(' ')
  const cwd = written.cwd === undefined ? transport.cwd : withoutDefaults(written.cwd)
  const args = redactArgs((written.args ?? transport.args).map(withoutDefaults))
  return { ...server, transport: { ...transport, command, args, cwd, env: masked(transport.env) } }
}

/** A configuration for the eyes of a person; see `redactServer`. */
export const redactConfig = (config: ProxyConfig): ProxyConfig => ({
  ...config,
  stateKeys: config.stateKeys.map(() => MASK),
  servers: config.servers.map(redactServer),
})

/** Values that are too short to be told from ordinary words. */
const LEAST_SECRET = 6

/** Somebody else's words for the eyes of a person: without the secrets of the server that they are about. */
export function redactWords(words: string, { transport }: ServerConfig): string {
  if (transport.kind === 'socket') return words
  const values =
    transport.kind === 'stdio'
      ? Object.entries(transport.env).filter(([name]) => SECRET_NAME.test(name))
      : Object.entries(transport.headers)
  return values
    .flatMap(([, value]) => [value, ...value.split(' ')])
    .filter(value => value.length >= LEAST_SECRET)
    .reduce((text, value) => text.replaceAll(value, MASK), words)
}

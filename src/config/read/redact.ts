import { MASK, maskAddress, maskShapes } from '../../kernel/key-shapes.js'
import type { ProxyConfig, ServerConfig } from '../types.js'
import { bareRecord } from './bare-record.js'
import { withoutDefaults } from './env.js'
import { splitArgument } from './secrets.js'

/** Arguments for the eyes of a person: what follows `--token` or `KEY=` and the like is masked. */
export function redactArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, at) => {
    const { open, value, isSecret } = splitArgument(arg, at, args)
    return open + (isSecret ? MASK : maskShapes(value))
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
    const url = maskAddress(withoutDefaults(written.url ?? transport.url))
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
  variables: [],
  stateKeys: config.stateKeys.map(() => MASK),
  servers: config.servers.map(redactServer),
})

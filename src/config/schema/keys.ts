import { MAX_UNKNOWN_KEYS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import type { TreeItem } from '../file/tree.js'
import { SWITCH_KEYS } from './client-switches.js'
import { suggest } from './suggest.js'

/** Keys of other programs, with their replacements; undefined for keys that are safe to ignore. */
export type ForeignKeys = ReadonlyMap<string, string | undefined>

/** Both functions take names separated by spaces. */
const harmless = (names: string): [string, undefined][] => names.split(' ').map(name => [name, undefined])
const instead = (fix: string, names: string): [string, string][] => names.split(' ').map(name => [name, fix])

/** Keys that switch a server off if they are `false`: ours, and those of Cherry Studio, 5ire and Jan. */
export const OFF_IF_FALSE = ['enabled', 'enable', 'isEnabled', 'isActive', 'is_active', 'active'] as const

/** Keys that switch a server off if they are `true`: ours, and that of DeepChat. */
export const OFF_IF_TRUE = ['disabled', 'disable', 'isDisabled'] as const

/** Returns whether an entry of our file is switched off. */
export const isSwitchedOff = (valueOf: (key: string) => unknown): boolean =>
  OFF_IF_TRUE.some(key => valueOf(key) === true) || OFF_IF_FALSE.some(key => valueOf(key) === false)

/** Keys of VS Code, Claude Code, Cursor, Gemini CLI, Cline, Zed and LibreChat within a server's entry. */
export const FOREIGN_SERVER_KEYS: ForeignKeys = new Map<string, string | undefined>([
  ...harmless('isActive is_active active enable isEnabled disable isDisabled'),
  ...harmless('alwaysAllow autoApprove trust alwaysLoad default_tools_approval_mode'),
  ...harmless('name title comment icon iconPath gallery version metadata'),
  ...harmless('dev source settings remoteConfigured chatMenu serverInstructions customUserVars'),
  ...instead(
    'For calls through this proxy set timeouts.call, for example "timeouts": { "call": "60s" }.',
    'timeout requestTimeout request_timeout_ms tool_timeout_sec',
  ),
  ...instead(
    'For the start of a server set timeouts.connect, for example "timeouts": { "connect": "60s" }.',
    'initTimeout connectionTimeout startup_timeout_sec startup_timeout_ms',
  ),
  ...instead(
    'If the server needs a credential, send it with "headers".',
    'auth apiKey authProviderType headersHelper bearer_token_env_var requiresOAuth',
  ),
  ...instead('Write its variables into "env".', 'env_vars'),
  ...instead('Write "envFile" instead.', 'env_file'),
  ...instead('Write "env" instead.', 'environment envs'),
  ...instead('Write "command" instead.', 'cmd'),
  ...instead('Write "url" instead.', 'baseUrl tcp'),
  ...instead('Write "headers" instead.', 'http_headers requestOptions'),
  ...instead('Write "type" instead.', 'transport transportType protocol'),
  ...instead('To show only some tools set tools.allow.', 'includeTools enabled_tools'),
  ...instead('To hide tools set tools.deny.', 'excludeTools disabledTools disabled_tools'),
])

/** Top-level keys of other programs. */
export const FOREIGN_ROOT_KEYS: ForeignKeys = new Map(harmless(['inputs', ...SWITCH_KEYS].join(' ')))

export const NO_FOREIGN_KEYS: ForeignKeys = new Map()

/** Detects comments by convention, and extensions. */
export const isRemark = (name: string): boolean => /^(\/\/|_|#|x-|\$)/.test(name)

const messageFor = (name: string, known: readonly string[], foreign: ForeignKeys) => {
  const fix = foreign.get(name)
  if (fix !== undefined) return { message: 'this key belongs to other programs and is ignored here', fix }
  const meant = suggest(name, known)
  return {
    message: 'unknown key, ignored',
    fix: meant === undefined ? 'Check its spelling, or remove it.' : `Did you mean "${meant}"?`,
  }
}

/** Warns about unknown members; ignores comments and extensions unless they resemble a known key. */
export function warnUnknown(
  found: ReadonlyMap<string, TreeItem>,
  known: readonly string[],
  foreign: ForeignKeys,
  report: Report,
): void {
  const odd = [...found].filter(
    ([name]) =>
      !known.includes(name) &&
      !(foreign.has(name) && foreign.get(name) === undefined) &&
      !(isRemark(name) && suggest(name, known) === undefined),
  )
  for (const [name, item] of odd.slice(0, MAX_UNKNOWN_KEYS)) {
    report.nameWarning(item, messageFor(name, known, foreign))
  }
  const next = odd[MAX_UNKNOWN_KEYS]?.[1]
  if (next === undefined) return
  report.nameWarning(next, {
    message: `this and ${odd.length - MAX_UNKNOWN_KEYS - 1} more keys are unknown and ignored`,
    fix: 'Check that this is the right file.',
  })
}

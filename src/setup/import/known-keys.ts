import { OFF_IF_FALSE, OFF_IF_TRUE } from '../../config/schema/keys.js'
import { isObject } from '../../kernel/object.js'
import type { ContainerMembers } from '../edit/containers.js'
import { filled, scalarText } from './lists.js'

/** Keys that are read, or that mean nothing outside their client. */
export const READ_KEYS: ReadonlySet<string> = new Set(
  `command cmd args env envFile env_file environment envs env_vars env_keys cwd
  url uri serverUrl httpUrl baseUrl endpoint sseUrl tcp type transport transportType protocol
  headers http_headers env_http_headers requestOptions apiKey bearer_token_env_var bearerTokenEnv
  disabled disable isDisabled enabled enable isEnabled isActive is_active active
  tools includeTools enabled_tools enabledTools available_tools excludeTools disabled_tools disabledTools
  timeout requestTimeout request_timeout_ms tool_timeout_sec initTimeout connectionTimeout startup_timeout_sec
  startup_timeout_ms
  name serverName title description display_name comment icon iconPath faviconUrl logoUrl gallery version metadata
  id provider providerUrl reference source settings dev required chatMenu serverInstructions remoteConfigured
  stderr startup alwaysLoad supports_parallel_tool_calls bundled watchPaths`.split(/\s+/),
)

/** Reported once per entry. */
export const APPROVALS = 'approvals are not imported: the client asks at least as often as before'

/** Keys that are not imported. With an obstacle, the server depends on the key. */
export const LEFT_OUT: readonly (readonly [keys: string, note: string, obstacle?: string])[] = [
  ['alwaysAllow autoApprove trust default_tools_approval_mode', APPROVALS],
  [
    'oauth auth authProviderType requiresOAuth oauth_headers oauth_resource scopes obo',
    'log in again: logins stay in the client',
    'the client is signed in to it',
  ],
  [
    'headersHelper',
    'headersHelper is left out: write its headers into "headers"',
    'headersHelper runs only in the client',
  ],
  [
    'sandbox sandboxEnabled',
    'its sandbox is left out: it runs with all rights of the proxy',
    'it runs in a sandbox of the client',
  ],
  [
    'customUserVars',
    'customUserVars is left out: write its values into "env" or "headers"',
    'the client asks each user for its variables',
  ],
]

/** Keys that only programs use. */
const PROGRAM_KEYS = 'args env environment envs env_vars env_keys envFile env_file cwd'.split(' ')
/** Keys that only addresses use. */
const ADDRESS_KEYS = 'headers http_headers env_http_headers requestOptions apiKey bearer_token_env_var'.split(
  ' ',
)

const isFilled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : filled(value) !== undefined

/** Returns the keys with values that its transport does not use. */
export const unusedIn = (source: ContainerMembers, isRemote: boolean): readonly string[] =>
  (isRemote ? PROGRAM_KEYS : ADDRESS_KEYS).filter(key => isFilled(source[key]))

/** Returns whether a client's entry is switched off, in any client's words. */
export const isOffInClient = (source: ContainerMembers): boolean =>
  isOff(source) || (isObject(source['options']) && isOff(source['options']))

const isOff = (source: ContainerMembers): boolean =>
  OFF_IF_TRUE.some(key => /^(?:true|1)$/i.test(scalarText(source[key]) ?? '')) ||
  OFF_IF_FALSE.some(key => /^(?:false|0)$/i.test(scalarText(source[key]) ?? ''))

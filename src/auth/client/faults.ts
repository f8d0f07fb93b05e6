import { Fault } from '../../kernel/faults.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { loginReasonOf, NEEDS_CREDENTIALS } from '../../model/login.js'

/** A server and its login command; undefined for users without a command line. */
export interface SignInHint {
  readonly server: string
  readonly command: string | undefined
}

/** Scopes are text of a peer: clients see only a few short ones. */
const SCOPE = /^[\w.:/-]{1,40}$/
const SCOPES_SHOWN = 8

const runIt = ({ command }: SignInHint, before: string): string =>
  command === undefined ? '' : `${before}run \`${command}\``

export const needsAuth = (signIn: SignInHint): Fault =>
  new Fault('unauthorized', `Server ${signIn.server} needs a login${runIt(signIn, ': ')}`, {
    data: { server: signIn.server, reason: 'needs-auth' },
  })

/** The fault of a server that takes a user and password (RFC 7617), which only the user can configure. */
export const needsPassword = (): Fault =>
  new Fault(
    'unavailable',
    'it requires a user and password (HTTP Basic): write USER:PASSWORD@ before the host in "url", or an ' +
      'Authorization header into "headers"',
    { data: { httpStatus: 401, reason: NEEDS_CREDENTIALS } },
  )

export const needsScopes = (signIn: SignInHint, scopes: readonly string[]): Fault => {
  const { server } = signIn
  const shown = sanitizeLine(
    scopes
      .filter(scope => SCOPE.test(scope))
      .slice(0, SCOPES_SHOWN)
      .join(' '),
  )
  const message = `Server ${server} wants more scopes${shown && ` (${shown})`}${runIt(signIn, ': ')}`
  return new Fault('unauthorized', message, { data: { server, reason: 'insufficient-scope' } })
}

/** The error codes of OAuth 2.0 and its extensions (IANA, "OAuth Extensions Error Registry"). */
const CODES: ReadonlySet<string> = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  ...['invalid_scope', 'invalid_target', 'access_denied', 'server_error', 'temporarily_unavailable'],
  ...['authorization_pending', 'slow_down', 'expired_token', 'invalid_dpop_proof', 'use_dpop_nonce'],
  ...['interaction_required', 'login_required', 'consent_required', 'invalid_redirect_uri'],
  ...['invalid_client_metadata', 'unsupported_token_type', 'insufficient_scope'],
])

/** Returns an error code that clients may see; other text of an authorization server is for operators. */
export const knownCode = (error: string): string => (CODES.has(error) ? error : 'an unknown error')

/** Removes quotations and paths of URLs, which may be text of a peer. */
const withoutPeerText = (message: string): string =>
  message.replace(/(https?:\/\/[^\s/?#,;"')]+)[^\s,;"')]*/g, '$1').replace(/,? *"[^"]*"/g, '')

/** Returns a fault with all causes, for the log and `auth status`. */
export const storyOf = (thrown: unknown): string => {
  const parts: string[] = []
  for (let each = thrown; each instanceof Error && parts.length < STORY_PARTS; each = each.cause)
    parts.push(each.message.split('\n', 1).join())
  return sanitizeLine(parts.join(': '))
}

const STORY_PARTS = 4

/** Converts a failed login to a fault of this server that names the command. */
export const aboutLogin = (thrown: unknown, signIn: SignInHint): Fault => {
  const { server } = signIn
  const fault = Fault.from(thrown)
  if (fault.data?.['server'] !== undefined) return fault
  const reason = loginReasonOf(fault) ?? 'auth-unreachable'
  const retryAfterMs = fault.data?.['retryAfterMs']
  const message = withoutPeerText(fault.message.split('\n', 1).join())
  return new Fault(
    'unauthorized',
    `Server ${server} needs a login, which failed: ${message}` + runIt(signIn, '; for more '),
    {
      cause: fault,
      data: { server, reason, ...(retryAfterMs !== undefined && { retryAfterMs }) },
    },
  )
}

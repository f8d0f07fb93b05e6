import { Fault } from '../../kernel/faults.js'
import { loginReasonOf } from '../../model/login.js'
import { sanitizeLine } from '../../secrets/mask.js'

/** A server, and the command that signs in there; undefined for people who can run none. */
export interface SignIn {
  readonly server: string
  readonly command: string | undefined
}

/** Of what a server asks for: the command behind it must be read too. */
const SHOWN_BYTES = 300

const runIt = ({ command }: SignIn, before: string): string =>
  command === undefined ? '' : `${before}run \`${command}\``

export const needsAuth = (signIn: SignIn): Fault =>
  new Fault('unauthorized', `Server ${signIn.server} needs a login${runIt(signIn, ': ')}`, {
    data: { server: signIn.server, reason: 'needs-auth' },
  })

export const needsScopes = (signIn: SignIn, scopes: readonly string[]): Fault => {
  const { server } = signIn
  const words = `Server ${server} wants more scopes (${sanitizeLine(scopes.join(' '), SHOWN_BYTES)})${runIt(signIn, ': ')}`
  return new Fault('unauthorized', words, { data: { server, reason: 'insufficient-scope' } })
}

/** What kept us from tokens, as a fault of this server that names the command. */
export const aboutLogin = (thrown: unknown, signIn: SignIn): Fault => {
  const { server } = signIn
  const fault = Fault.from(thrown)
  if (fault.data?.['server'] !== undefined) return fault
  const reason = loginReasonOf(fault) ?? 'auth-unreachable'
  const retryAfterMs = fault.data?.['retryAfterMs']
  return new Fault(
    'unauthorized',
    `Server ${server} wants a login, which is not possible: ${fault.message.split('\n', 1).join()}` +
      runIt(signIn, '; for more '),
    {
      cause: fault,
      data: { server, reason, ...(retryAfterMs !== undefined && { retryAfterMs }) },
    },
  )
}

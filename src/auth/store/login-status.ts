import type { UrlTransport } from '../../config/types.js'
import { objectIn } from '../../kernel/object.js'
import type { CredentialRecord } from '../client/record.js'
import { askChallenge } from './challenge.js'
import type { CredentialFiles } from './files.js'
import { loginUrl } from './logins.js'

/** A login at a server, for people. Holds no part of a token. */
export interface LoginStatus {
  readonly server: string
  readonly owner: string
  /** `none`: it asks for no login, or cannot be asked. */
  readonly state: 'ok' | 'expired' | 'needs-auth' | 'insufficient-scope' | 'none'
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** Milliseconds until the access token ends; undefined if nobody said. */
  readonly leftMs?: number | undefined
  readonly isRenewable?: boolean
  /** What the authorization server last answered instead of tokens. */
  readonly problem?: string | undefined
  /** Whether the token says that it is for this server; undefined if it says nothing. */
  readonly isForServer?: boolean | undefined
}

interface Asked {
  readonly name: string
  readonly transport: UrlTransport
  /** Whose login there can be made with a command. */
  readonly owner: string
}

/**
 * The logins at these servers, of all owners if wanted, else of those who sign in with a command; a server
 * without one is asked whether it wants one. Never rejects.
 */
export const loginStatuses = async (
  store: CredentialFiles,
  servers: readonly Asked[],
  isOfAll: boolean,
): Promise<readonly LoginStatus[]> => {
  const records = store.all()
  const all = servers.map(async server => {
    const url = loginUrl(server.transport.url)
    const own = records.filter(record => record.url === url && (isOfAll || record.owner === server.owner))
    return own.length > 0 ? own.map(record => statusOf(server.name, record)) : [await withoutLogin(server)]
  })
  return (await Promise.all(all)).flat()
}

const withoutLogin = async ({ name: server, transport, owner }: Asked): Promise<LoginStatus> => {
  const asked = await askChallenge(transport).catch(() => undefined)
  return { server, owner, state: asked?.isRefused === true ? 'needs-auth' : 'none' }
}

const statusOf = (
  server: string,
  { owner, tokens, stepUp, discovery, problem }: CredentialRecord,
): LoginStatus => {
  const issuer = discovery.server.issuer
  if (tokens === undefined) return { server, owner, issuer, problem, state: 'needs-auth' }
  const leftMs = tokens.endsMs === undefined ? undefined : Math.max(0, tokens.endsMs - Date.now())
  const isRenewable = tokens.refresh !== undefined
  const lacks = stepUp?.scopes.some(scope => tokens.scopes?.includes(scope) === false) === true
  const isOver = leftMs === 0 && !isRenewable
  return {
    ...{ server, owner, issuer, problem, scopes: tokens.scopes, leftMs, isRenewable },
    state: lacks ? 'insufficient-scope' : isOver ? 'expired' : 'ok',
    isForServer: isFor(tokens.access, discovery.resource),
  }
}

/** Whether the audience of a JSON Web Token is the server. */
const isFor = (token: string, resource: string | undefined): boolean | undefined => {
  const claims = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const audience = claims?.['aud']
  if (audience === undefined || resource === undefined) return undefined
  const bare = (text: unknown): string => String(text).replace(/\/$/, '')
  return [audience].flat().some(each => bare(each) === bare(resource))
}

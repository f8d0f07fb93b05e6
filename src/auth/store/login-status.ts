import type { UrlTransport } from '../../config/types.js'
import { objectIn } from '../../kernel/object.js'
import type { CredentialRecord } from '../client/record.js'
import { askChallenge } from './challenge.js'
import type { CredentialFiles } from './files.js'
import { loginUrl } from './logins.js'

/** The status of a login, for people. Contains no part of a token. */
export interface LoginStatus {
  readonly server: string
  readonly owner: string
  /** `none`: the server needs no login, takes a password, or cannot be asked. */
  readonly state: 'ok' | 'expired' | 'needs-auth' | 'insufficient-scope' | 'none'
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** Milliseconds until the access token expires; undefined if unknown. */
  readonly leftMs?: number | undefined
  readonly isRenewable?: boolean
  /** Last error text of the authorization server. */
  readonly problem?: string | undefined
  /** True if the token is for this server; undefined if the token does not tell. */
  readonly isForServer?: boolean | undefined
}

interface Asked {
  readonly name: string
  readonly transport: UrlTransport
  /** Owner of logins made by command. */
  readonly owner: string
}

/**
 * Returns the logins at these servers, of all owners or only those made by command. Asks servers without a
 * login whether they need one. Never rejects.
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
  const needsLogin = asked?.isRefused === true && asked.takesPassword !== true
  return { server, owner, state: needsLogin ? 'needs-auth' : 'none' }
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

/** Reports whether the audience of a JSON Web Token is the server. */
const isFor = (token: string, resource: string | undefined): boolean | undefined => {
  const claims = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const audience = claims?.['aud']
  if (audience === undefined || resource === undefined) return undefined
  const bare = (text: unknown): string => String(text).replace(/\/$/, '')
  return [audience].flat().some(each => bare(each) === bare(resource))
}

import type { RemoteNetwork } from '../../transport/http/routes.js'
import { revokeTokens } from '../client/revoke.js'
import type { OAuthSettings } from '../client/settings.js'
import type { CredentialFiles } from './files.js'
import { loginContext, loginUrl } from './logins.js'

export interface LogoutOptions {
  readonly server: string
  readonly url: string
  readonly settings: OAuthSettings
  readonly owner: string
  /** The way to the server. */
  readonly network?: RemoteNetwork | undefined
  readonly store: CredentialFiles
  /** Also deletes the client registration. */
  readonly forgetsClient: boolean
}

/**
 * Revokes and removes the login at a server. Resolves with whether there was one, and whether the
 * authorization server accepted the revocation. Rejects with a Fault if the store cannot be written.
 */
export const logOut = async ({ store, forgetsClient, ...login }: LogoutOptions) => {
  const url = loginUrl(login.url)
  const records = store.all().filter(record => record.url === url && record.owner === login.owner)
  const context = await loginContext({ ...login, command: '' }, store)
  let isRevoked = true
  for (const known of records) {
    await store.locked(known, async () => {
      // A proxy may have refreshed the tokens meanwhile.
      const record = store.read(known) ?? known
      isRevoked = (await revokeTokens(context, record)) && isRevoked
      if (forgetsClient || record.client === undefined) store.remove(record)
      else store.save({ ...record, tokens: undefined, stepUp: undefined })
    })
  }
  return { wasSignedIn: records.some(({ tokens }) => tokens !== undefined), isRevoked }
}

import type { AuthConfig, ProxyConfig, UrlTransport } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import type { CredentialRecord } from '../client/record.js'
import { revokeTokens } from '../client/revoke.js'
import type { CredentialFiles } from '../store/files.js'
import { loginContext, loginUrl } from '../store/logins.js'

export interface RemovedUsersContext {
  readonly config: ProxyConfig
  /** Origin of these pages: logins from pages of another proxy are kept. */
  readonly origin: string
  readonly store: CredentialFiles
  readonly log: Logger
}

/** Revokes and removes the logins of people who were removed or lost their access. Never rejects. */
export const endLoginsOfRemovedUsers = async (context: RemovedUsersContext): Promise<void> => {
  const { auth } = context.config
  if (auth === undefined) return
  const removed = context.store.all().filter(record => isOurs(record, context) && !isHere(record, auth))
  await Promise.all(removed.map(record => end(record, context)))
}

const isOurs = ({ redirect, client }: CredentialRecord, { origin }: RemovedUsersContext): boolean =>
  redirect === 'web' && client?.redirectUri?.startsWith(origin + CALLBACK_PATH) === true

const PERSON = 'person '

/** Reports whether the owner still has access according to the configuration. */
const isHere = ({ owner }: CredentialRecord, { people }: AuthConfig): boolean => {
  if (!owner.startsWith(PERSON)) return true
  const person = people.find(({ name }) => name === owner.slice(PERSON.length))
  return person !== undefined && person.tokens.length + person.subjects.length > 0
}

const end = async (record: CredentialRecord, { config, store, log }: RemovedUsersContext): Promise<void> => {
  const { owner, url } = record
  try {
    const server = config.servers.find(
      ({ transport }) => 'url' in transport && loginUrl(transport.url) === url,
    )
    const login = {
      server: server?.name ?? url,
      command: undefined,
      url,
      settings: server?.oauth ?? {},
      owner,
      network: server?.transport as UrlTransport | undefined,
    }
    const isRevoked = await revokeTokens(await loginContext(login, store), record)
    await store.locked(record, () => store.remove(record))
    log.info({ server: login.server, owner, isRevoked }, 'ended the login of a removed user')
  } catch (thrown) {
    log.warn({ owner, why: Fault.from(thrown).message }, 'cannot end the login of a removed user')
  }
}

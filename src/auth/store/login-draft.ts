import { Fault } from '../../kernel/faults.js'
import { newDpopKey } from '../client/dpop.js'
import { needsPassword } from '../client/faults.js'
import { checkEndpoints, chooseScopes } from '../client/login-flow.js'
import type { CredentialRecord } from '../client/record.js'
import { countLogin } from '../client/step-up.js'
import { discoverFor } from '../client/token-source.js'
import type { AskedChallenge } from './challenge.js'
import type { CredentialFiles } from './files.js'
import type { LoginContext } from './logins.js'

/**
 * Prepares a login: the authorization server, existing data, and the scopes to request. Rejects with a Fault
 * if the server needs no login or takes only a password, or after too many attempts.
 */
export const draftLogin = async (
  context: LoginContext,
  { challenge, isRefused, takesPassword }: AskedChallenge,
  redirect: CredentialRecord['redirect'],
): Promise<CredentialRecord> => {
  const { server, settings, url, owner, nowMs } = context
  const discovery = await discoverFor(context, challenge)
  if (discovery.by === 'endpoints' && (!isRefused || takesPassword === true))
    throw isRefused ? needsPassword() : new Fault('unavailable', `${server} does not require a login`)
  checkEndpoints(discovery, context)
  const draft: CredentialRecord = {
    ...{ ...recordFor(context, discovery), version: 1, redirect, discovery },
    ...{ url, owner, discoveredMs: nowMs() },
  }
  const counted = await withCount(context, draft)
  const asked = chooseScopes(discovery, settings, {
    challenged: challenge?.scopes,
    wanted: counted.stepUp?.scopes,
  })
  const dpopKey = settings.dpop === true ? (counted.dpopKey ?? (await newDpopKey())) : undefined
  return { ...counted, asked, dpopKey }
}

/** Returns the existing data for this authorization server; ignores the data of another one. */
const recordFor = (
  context: LoginContext,
  discovery: CredentialRecord['discovery'],
): CredentialRecord | undefined => {
  const record = context.store.find(context)
  return record?.discovery.server.issuer === discovery.server.issuer ? record : undefined
}

/** Counts an attempt to get missing scopes, before it is made. */
const withCount = async (
  { store, server, nowMs }: LoginContext,
  draft: CredentialRecord,
): Promise<CredentialRecord> => {
  const stepUp = countLogin(draft.stepUp, nowMs())
  if (stepUp === undefined) return draft
  if (stepUp !== 'too-many') {
    await store.locked(draft, () => {
      const now = store.read(draft)
      if (now !== undefined) store.save({ ...now, stepUp })
    })
    return { ...draft, stepUp }
  }
  const scopes = draft.stepUp?.scopes.join(' ') ?? ''
  throw new Fault(
    'unauthorized',
    `${server} refuses the scopes that it asks for (${scopes}), although they were requested three times;` +
      ' try again in 10 minutes',
    { data: { reason: 'insufficient-scope' } },
  )
}

/**
 * Stores a login instead of earlier ones of the same owner and server, even of another authorization server
 * or kind. Rejects with a Fault.
 */
export const keepLogin = (store: CredentialFiles, record: CredentialRecord): Promise<void> =>
  store.locked(record, () => store.replace(record))

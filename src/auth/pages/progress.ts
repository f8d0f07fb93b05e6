import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import type { PendingSignIn } from '../authorization-server/sign-in/identity-provider.js'
import { callbackPath } from './client-document.js'
import type { SignInPageLink } from './sign-in-links.js'
import type { LoginDraft, StartedLogin } from './web-login.js'

/** The state of a link. */
export interface LoginProgress {
  /** Hash of the cookie of its principal's browser, once known. */
  owner: string | undefined
  draft: Promise<LoginDraft> | undefined
  /** Scopes shown on the page. */
  asked: readonly string[] | undefined
  at: 'open' | 'done' | 'denied'
  /** The last error, for the user. */
  problem: string | undefined
  /** Results for browsers of unknown or other users, by browser. */
  readonly results: Map<string, VisitResult>
  /** Destination of the browser, and the expected `state`. */
  away: Away | undefined
}

export interface VisitResult {
  readonly isStranger: boolean
  readonly problem?: string
}

/** Reason why a browser is at another site. Secret. */
export type Away = { readonly state: string } & (
  | { readonly is: 'identity'; readonly pending: PendingSignIn }
  | { readonly is: 'login'; readonly started: StartedLogin }
)

/** Maximum number of remembered browsers per link. */
const RESULTS_MAX = 16

const all = new WeakMap<SignInPageLink, LoginProgress>()

export const progressOf = (link: SignInPageLink): LoginProgress => {
  const progress = all.get(link) ?? {
    owner: undefined,
    draft: undefined,
    asked: undefined,
    at: 'open',
    problem: undefined,
    results: new Map(),
    away: undefined,
  }
  all.set(link, progress)
  return progress
}

/** Stores a result of a browser for its next page. */
export const keep = ({ results: all }: LoginProgress, browser: string, result: VisitResult): void => {
  all.set(browser, result)
  const [oldest] = all.keys()
  if (oldest !== undefined && all.size > RESULTS_MAX) all.delete(oldest)
}

/** Reports whether a response is on the path of the expected issuer, since other issuers use other paths. */
export const isAnswerTo = (away: Away | undefined, state: string, path: string): away is Away => {
  if (away?.state !== state) return false
  const issuer = away.is === 'login' ? away.started.pending.discovery.server.issuer : undefined
  return path === (issuer === undefined ? CALLBACK_PATH : callbackPath(issuer))
}

import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import type { PendingSignIn } from '../sign-in/identity-provider.js'
import { callbackPath } from './client-document.js'
import type { Link } from './sign-in-links.js'
import type { Draft, Underway } from './web-login.js'

/** How far a link has come. */
export interface Progress {
  /** The hash of what the browser of its principal has in its cookie, once that is known. */
  owner: string | undefined
  draft: Promise<Draft> | undefined
  /** The scopes that the page showed. */
  asked: readonly string[] | undefined
  at: 'open' | 'done' | 'denied'
  /** What went wrong last, in words for people. */
  problem: string | undefined
  /** What was found out in browsers that are not, or not yet, its principal's; by their names. */
  readonly heard: Map<string, Heard>
  /** What the browser was sent away for, and the `state` that it must bring back. */
  away: Away | undefined
}

export interface Heard {
  readonly isStranger: boolean
  readonly problem?: string
}

/** What a browser was sent away for. Secret. */
export type Away = { readonly state: string } & (
  | { readonly is: 'identity'; readonly pending: PendingSignIn }
  | { readonly is: 'login'; readonly underway: Underway }
)

/** How many browsers of one link are remembered. */
const HEARD_MAX = 16

const all = new WeakMap<Link, Progress>()

export const progressOf = (link: Link): Progress => {
  const progress = all.get(link) ?? {
    owner: undefined,
    draft: undefined,
    asked: undefined,
    at: 'open',
    problem: undefined,
    heard: new Map(),
    away: undefined,
  }
  all.set(link, progress)
  return progress
}

/** Remembers something of a browser for the next page that it asks for. */
export const hear = ({ heard: all }: Progress, browser: string, heard: Heard): void => {
  all.set(browser, heard)
  const [oldest] = all.keys()
  if (oldest !== undefined && all.size > HEARD_MAX) all.delete(oldest)
}

/**
 * Whether the answer is on the path of the issuer that the browser was sent to: another one knows another.
 */
export const isAnswerTo = (away: Away | undefined, state: string, path: string): away is Away => {
  if (away?.state !== state) return false
  const issuer = away.is === 'login' ? away.underway.pending.discovery.server.issuer : undefined
  return path === (issuer === undefined ? CALLBACK_PATH : callbackPath(issuer))
}

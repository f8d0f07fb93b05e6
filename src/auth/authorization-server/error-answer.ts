import type { HtmlPage } from './sign-in/page.js'
import { renderPage } from './sign-in/page.js'
import { errorPage } from './sign-in/sign-in-page.js'

/** An OAuth error for a browser or a program. */
export interface ErrorAnswer {
  readonly error: string
  readonly message?: string | undefined
  readonly status: number
  /** Link that the user may follow; there is no automatic redirect (RFC 9700 §4.11.2). */
  readonly link?: string | undefined
}

/** The answer while other replicas cannot be asked. */
export const UNAVAILABLE: ErrorAnswer = {
  error: 'temporarily_unavailable',
  message: 'the other replicas cannot be asked at the moment: try again soon',
  status: 503,
}
const RETRY_S = '5'

/** Renders a page for people, or JSON for programs; with `Retry-After` if the error is temporary. */
export const renderErrorAnswer = (
  accept: string | undefined,
  { error, message, status, link }: ErrorAnswer,
): { readonly status: number; readonly headers: Record<string, string>; readonly text: string } => {
  const retry: Record<string, string> = status === UNAVAILABLE.status ? { 'Retry-After': RETRY_S } : {}
  if (wantsPage(accept)) {
    const page: HtmlPage = errorPage({ error, description: message, status, link })
    const { headers, text } = renderPage(page)
    return { status, headers: { ...headers, ...retry }, text }
  }
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...retry },
    text: JSON.stringify({ error, ...(message !== undefined && { error_description: message }) }),
  }
}

/** Reports whether an `Accept` header prefers HTML to JSON. */
const wantsPage = (accept = ''): boolean => {
  const [html, json] = [accept.indexOf('text/html'), accept.indexOf('application/json')]
  return html >= 0 && (json < 0 || html < json)
}

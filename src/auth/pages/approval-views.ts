import { escapeForeign } from '../../kernel/hidden-text.js'
import { type HtmlPage, html } from '../authorization-server/sign-in/page.js'
import type { IdentificationMethods } from './browser.js'
import { type Form, form, identification } from './views.js'

/** Renders the page on which a visitor authenticates; it tells nothing about the call. */
export const whoDecidesPage = (view: Form & IdentificationMethods): HtmlPage => ({
  title: 'Who are you?',
  ...(view.problem !== undefined && { status: 403 }),
  body: html`
<p>A call waits for approval. Show that you may decide about it.</p>
${identification(view)}`,
})

/** Renders the page for a known visitor who may not decide. */
export const notYoursPage = (view: Form): HtmlPage => ({
  title: 'You may not decide about this call',
  status: 403,
  body: html`
<p>You are signed in, but another person decides about this call, so nothing was done.</p>
${form(view, html`<div class="actions"><button name="action" value="switch">I am another person</button></div>`)}`,
})

/** Renders the question about a call. */
export const decidePage = (
  view: Form & {
    /** The caller, if that is another person. */
    readonly caller: string | undefined
    readonly box: readonly string[]
    readonly lines: readonly string[]
  },
): HtmlPage => ({
  title: 'Allow this call?',
  body: html`
${view.caller === undefined ? undefined : html`<p>Caller: <strong>${escapeForeign(view.caller)}</strong></p>`}
<p>The text in the box was not written by mcp-proxy.</p>
<pre tabindex="0" aria-label="The call">${view.box.map((line, index) => [index === 0 ? undefined : BREAK, line])}</pre>
${view.lines.map(line => html`<p class="quiet">${line}</p>`)}
${form(
  view,
  html`<div class="actions"><button name="action" value="deny">Do not allow</button>
<button class="main" name="action" value="allow">Allow this one call</button></div>`,
)}`,
})

/** Text loses its line breaks. */
const BREAK = html`
`

export const decidedPage = (isAllowed: boolean): HtmlPage => ({
  title: isAllowed ? 'The call is allowed' : 'The call is refused',
  body: html`<p>${
    isAllowed
      ? 'If its client no longer waits, repeat the same call there. You can close this page.'
      : 'Nothing was sent. You can close this page.'
  }</p>`,
})

/** The page of an approval that is unknown, decided or expired. */
export const NO_APPROVAL: HtmlPage = {
  title: 'No call waits here',
  status: 404,
  body: html`<p>The call was decided, its time is over, or it never waited here.</p>`,
}

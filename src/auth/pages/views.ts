import { type Html, type HtmlPage, html } from '../authorization-server/sign-in/page.js'
import type { IdentificationMethods } from './browser.js'

/** Content of a form. */
export interface Form {
  /** Path of the page. */
  readonly path: string
  readonly csrf: string
  /** The last error. */
  readonly problem?: string | undefined
}

export const form = ({ path, csrf }: Form, content: Html): Html => html`
<form method="post" action="${path}">
<input type="hidden" name="csrf" value="${csrf}">
${content}
</form>`

const note = ({ problem }: Form): Html | undefined =>
  problem === undefined ? undefined : html`<p class="note" role="alert">${problem}</p>`

/** Reload interval while waiting for an approval. */
export const AGAIN_S = 2

/** Renders the ways in which a user can authenticate. */
export const identification = (view: Form & IdentificationMethods): Html => {
  const { byToken, code, provider } = view
  const isStuck = !byToken && provider === undefined && code === undefined
  return html`
${note(view)}
${
  isStuck
    ? html`<p class="note">This proxy cannot identify you. Its operator can add personal tokens
(<code>auth.people</code>) or a login for users (<code>auth.embedded.login</code>).</p>`
    : undefined
}
${form(
  view,
  html`
${
  provider === undefined
    ? undefined
    : html`<div class="actions"><button class="main" name="action" value="identify">Sign in at ${provider}</button></div>`
}
${
  byToken
    ? html`<label for="token">${provider === undefined ? 'Your personal token for this proxy' : 'Or your personal token for this proxy'}</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" placeholder="mcpp_…">
<div class="actions"><button class="main" name="action" value="token">Continue</button></div>`
    : undefined
}`,
)}
${
  code === undefined
    ? undefined
    : html`<h2>Run this where mcp-proxy runs</h2>
<code class="command">mcp-proxy auth approve ${code}</code>
<p class="quiet">As the user that mcp-proxy runs as, within five minutes. This page then continues by itself.</p>`
}`
}

/** Renders the page on which the user of a link authenticates. */
export const whoPage = (
  view: Form & IdentificationMethods & { readonly server: string; readonly status?: number },
): HtmlPage => {
  const { code, server, status } = view
  return {
    title: `Sign in to ${server}`,
    ...(status !== undefined && { status }),
    ...(code !== undefined && { againS: AGAIN_S }),
    body: html`
<p>A user requested a login at <strong>${server}</strong>. Confirm that it was you.</p>
${identification(view)}
`,
  }
}

/** Renders the page for a known user who is not the owner of the link. */
export const strangerPage = (view: Form): HtmlPage => ({
  title: 'This link belongs to another user',
  status: 403,
  body: html`
<p>You are signed in, but another user requested this login, so nothing was done. If someone sent you the link,
do not use it: sign in from your own client.</p>
${form(
  view,
  html`<div class="actions"><button name="action" value="switch">It was me, under another name</button></div>`,
)}`,
})

/** Without `iss` in the response, only the user can notice a different authorization server. */
const hostNote = (view: { readonly issuerHost: string | undefined; readonly isNamedByAnswer: boolean }) =>
  view.issuerHost === undefined || view.isNamedByAnswer
    ? undefined
    : html`<p class="note">The next page must be at <strong>${view.issuerHost}</strong>. If it is at another host, close
it.</p>`

/** Renders the page that announces the login, before the browser leaves. */
export const goOnPage = (
  view: Form & {
    readonly server: string
    readonly serverHost: string
    /** Undefined until it is known. */
    readonly issuerHost: string | undefined
    /** True if the response will contain its issuer (RFC 9207). */
    readonly isNamedByAnswer: boolean
    readonly scopes: readonly string[]
  },
): HtmlPage => ({
  title: `Sign in to ${view.server}`,
  body: html`
<p>This proxy will use <strong>${view.server}</strong> with your account there, for your clients alone.</p>
<dl>
<div><dt>Server</dt><dd>${view.serverHost}</dd></div>
${view.issuerHost === undefined ? undefined : html`<div><dt>You sign in at</dt><dd>${view.issuerHost}</dd></div>`}
${
  view.scopes.length === 0
    ? undefined
    : html`<div><dt>It may</dt><dd><ul>${view.scopes.map(scope => html`<li><code>${scope}</code></li>`)}</ul></dd></div>`
}
</dl>
${hostNote(view)}
${note(view)}
${form(
  view,
  html`<div class="actions">
${
  view.issuerHost === undefined
    ? html`<button class="main" name="action" value="again">Try again</button>`
    : html`<button class="main" name="action" value="continue">Continue</button>`
}
<button name="action" value="deny">Cancel</button></div>`,
)}`,
})

export const donePage = (server: string): HtmlPage => ({
  title: `You are signed in to ${server}`,
  body: html`<p>Go back to your client: its next request uses your account. You can close this page.</p>`,
})

export const deniedPage = (server: string): HtmlPage => ({
  title: `Nothing was done`,
  body: html`<p>This proxy was not given access to your account at ${server}. You can close this page.</p>`,
})

/** Page for links that are unknown, ended, or belong to another browser. */
export const GONE: HtmlPage = {
  title: 'This link has expired',
  status: 404,
  body: html`<p>A link is valid for ten minutes and one login, in one browser. Request a new one from your client.</p>`,
}

/** Page for the response of an unknown login. */
export const NOT_HERE: HtmlPage = {
  title: 'This sign-in is over',
  status: 400,
  body: html`<p>It took too long, was finished, or began in another browser. Nothing was done. Start again
from your client.</p>`,
}

/** Page for a form from another site. */
export const FOREIGN: HtmlPage = { ...NOT_HERE, status: 403 }

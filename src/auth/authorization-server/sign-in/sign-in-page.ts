import { type Html, type HtmlPage, html } from './page.js'

/** Content of the sign-in page. All peer text is escaped. */
export interface SignInView {
  readonly clientName: string
  /** Host that receives the codes. */
  readonly redirectHost: string
  /** True if that is the user's own machine. */
  readonly isLocal: boolean
  /** Host of the client's metadata document, if its id is one. */
  readonly documentHost: string | undefined
  /** Resources of the tokens. */
  readonly resources: readonly string[]
  readonly scopes: readonly string[]
  readonly baseScope: string
  /** Path of this page. */
  readonly path: string
  readonly csrf: string
  /** The current user, if signed in. */
  readonly signedInAs: string | undefined
  /** Host of the identity provider, if configured. */
  readonly provider: string | undefined
  readonly canUseToken: boolean
  /** Code for `mcp-proxy auth approve`, if available. */
  readonly code: string | undefined
  /** True if the approval needs the name of a person. */
  readonly isNamed: boolean
  /** The last error. */
  readonly problem?: string | undefined
}

/** Reload interval while waiting for an approval. */
const AGAIN_S = 2

/** Renders the page on which a user allows a client or refuses it. */
export const signInPage = (view: SignInView): HtmlPage => {
  const { clientName, problem, signedInAs } = view
  const isTyping = signedInAs === undefined && view.canUseToken
  return {
    title: `Allow ${clientName}?`,
    ...(view.code !== undefined && !isTyping && { againS: AGAIN_S }),
    body: html`
<p><strong>${clientName}</strong> wants to use the MCP servers behind this proxy in your name.</p>
${facts(view)}
${warning(view)}
${problem === undefined ? undefined : html`<p class="note" role="alert">${problem}</p>`}
<form method="post" action="${view.path}">
<input type="hidden" name="csrf" value="${view.csrf}">
${signedInAs === undefined ? ways(view) : asBefore(signedInAs)}
</form>`,
  }
}

const facts = ({ redirectHost, documentHost, resources, scopes, baseScope }: SignInView): Html => html`
<dl>
<div><dt>Codes go to</dt><dd>${redirectHost}</dd></div>
${documentHost === undefined ? undefined : html`<div><dt>Published by</dt><dd>${documentHost}</dd></div>`}
<div><dt>Valid at</dt><dd>${resources.join(', ')}</dd></div>
<div><dt>It may</dt><dd><ul>${scopes.map(scope => html`<li>${scopeText(scope, baseScope)}</li>`)}</ul></dd></div>
</dl>`

const scopeText = (scope: string, baseScope: string): Html => {
  if (scope === baseScope) return html`use tools, prompts and resources (<code>${scope}</code>)`
  if (scope === 'offline_access') return html`stay signed in (<code>${scope}</code>)`
  return html`what <code>${scope}</code> allows`
}

const warning = ({ isLocal, clientName }: SignInView): Html | undefined =>
  isLocal
    ? html`<p class="note">The codes go to a program on your own computer, and any program there may call itself
“${clientName}”. Nothing verifies the name: any program on this computer could claim it. Continue only if you have just started to connect it.</p>`
    : undefined

const asBefore = (name: string): Html => html`
<p>You are signed in as <strong>${name}</strong>.</p>
<div class="actions">
<button class="main" name="action" value="allow">Allow</button>
<button name="action" value="deny">Deny</button>
<button name="action" value="switch">Sign in as another user</button>
</div>`

const ways = (view: SignInView): Html => {
  const { provider, canUseToken } = view
  const main = canUseToken ? 'Allow' : 'Continue'
  return html`
${
  provider === undefined
    ? undefined
    : html`
<p>After you have allowed it, you sign in at <strong>${provider}</strong>.</p>
<div class="actions"><button class="main" name="action" value="login">Allow, and sign in</button>
${canUseToken ? undefined : html`<button name="action" value="deny">Deny</button>`}</div>`
}
${canUseToken ? tokenField(provider !== undefined) : undefined}
${view.code === undefined ? undefined : approval(view, view.code)}
${
  provider !== undefined && !canUseToken
    ? undefined
    : html`
<div class="actions"><button class="main" name="action" value="allow">${main}</button>
<button name="action" value="deny">Deny</button></div>`
}`
}

const tokenField = (isSecond: boolean): Html => html`
<label for="token">${isSecond ? 'Or allow it with your personal token' : 'Your personal token'}</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" placeholder="mcpp_…">`

const approval = ({ isNamed, canUseToken }: SignInView, code: string): Html => html`
<h2>${canUseToken ? 'Or have it approved' : 'To allow it, run this where mcp-proxy runs'}</h2>
<code class="command">mcp-proxy auth approve ${code}${isNamed ? ' --as NAME' : ''}</code>
<p class="quiet">As the user that mcp-proxy runs as, within five minutes.
${canUseToken ? 'Then press the button.' : 'This page then continues by itself.'}</p>`

const EXPLAINED: Readonly<Record<string, string>> = {
  invalid_client:
    'This proxy does not know the client (any more). Sign it out, or remove and add the server there.',
  invalid_redirect_uri:
    'The client wants its codes at an address that it has not registered. Nothing was sent there.',
}

/** Renders an error page. It offers the client's redirect URI only as a link. */
export const errorPage = ({
  error,
  description = '',
  status,
  link,
}: {
  readonly error: string
  readonly description?: string | undefined
  readonly status: number
  readonly link?: string | undefined
}): HtmlPage => ({
  title: 'This sign-in cannot continue',
  status,
  body: html`
<p>${EXPLAINED[error] ?? 'Start again from your client.'}</p>
<p class="quiet">${description} <code>${error}</code></p>
${
  link === undefined
    ? undefined
    : html`<p>To report this error to the client, open its redirect address, which no user of this proxy has used before:
<a href="${link}" rel="noreferrer">${new URL(link).host}</a></p>`
}`,
})

/** Page for a sign-in that does not exist any more. */
export const OVER: HtmlPage = {
  title: 'This sign-in is over',
  status: 400,
  body: html`<p>It took too long, was finished, was ended by wrong codes, or began in another browser. Start again
from your client.</p>`,
}

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  StreamableHTTPClientTransport as ModernHttp,
  Client as ModernSdk,
} from '@modelcontextprotocol/client'
import { Client as LegacySdk } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitationCompleteNotificationSchema,
  ToolListChangedNotificationSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { approveSignIn } from '../../src/auth/authorization-server/sign-in/approvals.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { allowWith, authorizePath, Browser, codeOn, register, type Visited } from '../support/auth-server.js'
import type { Loose } from '../support/client/raw-client.js'
import { hello, key, mirrored, modern } from '../support/era/codec.js'
import { until } from '../support/processes.js'
import { configWith, JSON_HEADERS, startAuthorized } from '../support/proxy/authorized.js'
import { configFile, runHere, STATE_HOME, setEnv } from '../support/proxy/start.js'
import { FakeIssuer, json } from '../support/server/fake-issuer.js'
import { BROWSER, LoginServer } from '../support/server/login-server.js'

const STATE = join(STATE_HOME, 'mcp-proxy')
const CREDENTIALS = join(STATE, 'credentials')
t.beforeEach(() => rmSync(STATE, { recursive: true, force: true }))

const [ALICE, BOB, CAROL] = [createPersonalToken(), createPersonalToken(), createPersonalToken()]
const AUTH = {
  people: {
    alice: { tokens: [{ hash: `sha256:${tokenHash(ALICE)}` }] },
    bob: { tokens: [{ hash: `sha256:${tokenHash(BOB)}` }] },
    carol: { tokens: [{ hash: `sha256:${tokenHash(CAROL)}` }] },
  },
}

const URL_MODE = { elicitation: { url: {} } }

interface Client {
  readonly id: string
  ask(method: string, params?: object): Promise<Loose>
}

const textOf = ({ result }: { result?: { content?: { text: string }[] } }): string =>
  result?.content?.map(({ text }) => text).join() ?? ''

const linkIn = (text: string): string => /https?:\/\/[\w.:]+\/oauth\/connect\/[\w-]+/.exec(text)?.[0] ?? ''

const files = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : []

interface Setting {
  readonly entry?: object
  readonly auth?: object | undefined
  readonly more?: object
}

const setUp = async (t: Test, setting: Setting = {}) => {
  const { entry = {}, more = {} } = setting
  const auth = 'auth' in setting ? setting.auth : AUTH
  const github = await LoginServer.start(t)
  const mcpServers = { github: { url: github.mcpUrl, credentials: 'per-principal', ...entry } }
  const proxy = await startAuthorized(t, auth, {
    more: { mcpServers, ...more },
    stateDir: STATE,
    listWaitMs: 5000,
  })
  /** Everything that each client was told, for canaries. */
  const heard: Record<string, string> = {}
  const post = async (token: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await proxy.ask('/mcp', {
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    })
    heard[token] = `${heard[token] ?? ''}\n${answer.text}`
    return answer
  }
  const open = async (token: string, capabilities: object = {}, version = '2025-11-25'): Promise<Client> => {
    let last = 0
    const greeting = await post(token, {
      ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
      params: hello(version, capabilities),
    })
    const id = String(greeting.headers['mcp-session-id'])
    const session = { 'mcp-session-id': id }
    await post(token, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)
    return {
      id,
      async ask(method, params = {}) {
        last += 1
        const { text } = await post(token, { jsonrpc: '2.0', id: last, method, params }, session)
        return JSON.parse(/^data: (\{.*"id":.*)$/m.exec(text)?.[1] ?? text)
      },
    }
  }
  const call = (client: Client, name: string) => client.ask('tools/call', { name, arguments: {} })
  const names = async (client: Client): Promise<readonly string[]> =>
    (await client.ask('tools/list')).result.tools.map(({ name }: { name: string }) => name)
  const browser = () => new Browser(proxy.origin, proxy.origin)
  /** What a person does at the authorization server of the server, and where that leads. */
  const atGithub = async (one: Browser, away: Visited, account: string): Promise<Visited> => {
    const back = await fetch(away.url, { redirect: 'manual', headers: { cookie: `account=${account}` } })
    return await one.open(back.headers.get('location') ?? '')
  }
  const signIn = async (link: string, token: string, account: string, one = browser()) => {
    const known = await one.press(await one.open(link), 'token', { token })
    return await atGithub(one, await one.press(known, 'continue'), account)
  }
  /** The secrets of logins that a log line, an answer or the status holds. */
  const leaks = (): readonly string[] => {
    const told = JSON.stringify([proxy.lines, heard, proxy.proxy.status()])
    return github.everySecret().filter(secret => told.includes(secret))
  }
  return { ...proxy, github, post, open, call, names, browser, atGithub, signIn, heard, leaks }
}

t.test('each principal has a login, lists, answers and files of its own', async t => {
  const { open, call, names, signIn, github, heard, proxy, leaks } = await setUp(t)
  const [alice, bob] = [await open(ALICE), await open(BOB)]
  t.same(await names(alice), ['github__sign_in'])
  const said = await call(alice, 'github__sign_in')
  t.equal(said.result.isError, true)
  t.match(
    textOf(said),
    /^Sign in to github, then ask again: http.*\/oauth\/connect\/[\w-]{22} {3}\(10 minutes\)$/,
  )
  const page = await signIn(linkIn(textOf(said)), ALICE, 'zelda')
  t.match(page.text, /You are signed in to github/)
  await until(async () => (await names(alice)).includes('github__of_zelda'), 'the tools of alice')
  t.same(await names(bob), ['github__sign_in'])
  t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda')
  t.match(textOf(await call(bob, 'github__look')), /Sign in to github, then ask again/)
  await signIn(linkIn(textOf(await call(bob, 'github__look'))), BOB, 'quincy')
  await until(async () => (await names(bob)).includes('github__of_quincy'), 'the tools of bob')
  t.same(await names(alice), ['github__look', 'github__change', 'github__of_zelda'])
  t.equal(textOf(await call(bob, 'github__look')), 'did look as quincy')
  t.match(textOf(await call(alice, 'github__sign_in')), /Signed in to github/, 'for those who ask late')
  t.equal((await call(alice, 'github__of_nobody')).error.code, -32602)
  t.equal(files(CREDENTIALS).length, 2)
  await proxy.close()
  t.equal(files(join(STATE, 'known')).length, 2)
  t.equal(github.to('/register').length, 1, 'it is one registration, of the proxy')
  t.notMatch(heard[BOB], /zelda/)
  t.notMatch(heard[ALICE], /quincy/)
  t.same(leaks(), [])
})

t.test('each client is notified of the sign-in page in its own way', async t => {
  const { open, call, names, post, signIn, github, proxy } = await setUp(t)
  const able = await open(ALICE, URL_MODE)
  const { error } = await call(able, 'github__sign_in')
  t.match(error, { code: -32042, data: { elicitations: [{ mode: 'url', message: /^Sign in to github/ }] } })
  const [{ elicitationId, url }] = error.data.elicitations
  t.equal(url, linkIn(url))
  const other = await open(ALICE, { elicitation: {} })
  t.equal(linkIn(textOf(await call(other, 'github__sign_in'))), url, 'of one principal, one link')
  t.match((await open(BOB)).id, /./)
  t.match(await call(await open(ALICE, URL_MODE, '2025-06-18'), 'github__look'), {
    result: { isError: true },
  })

  const heard = proxy.sessions
  t.ok(heard)
  const message = (params: object = {}) =>
    modern(
      7,
      'tools/call',
      { name: 'github__look', arguments: {}, ...params },
      {
        [key('clientCapabilities')]: URL_MODE,
      },
    )
  const ask = async (params: object = {}) => {
    const body = message(params)
    const { text } = await post(ALICE, { jsonrpc: '2.0', ...body }, mirrored(body))
    return JSON.parse(/^data: (\{.*"id":.*)$/m.exec(text)?.[1] ?? text).result
  }
  const asked = await ask()
  t.match(asked, {
    resultType: 'input_required',
    inputRequests: { 'sign-in': { method: 'elicitation/create', params: { mode: 'url', url } } },
  })
  t.notOk('elicitationId' in asked.inputRequests['sign-in'].params)
  const { requestState } = asked
  const declined = await ask({ requestState, inputResponses: { 'sign-in': { action: 'decline' } } })
  t.match(declined, { isError: true, content: [{ text: /the user answered: decline/ }] })
  const again = ask({ requestState, inputResponses: { 'sign-in': { action: 'accept' } } })
  await signIn(url, ALICE, 'zelda')
  t.match(await again, { content: [{ text: 'did look as zelda' }] }, 'it waited for the login')
  t.ok(elicitationId)
  t.ok((await names(able)).includes('github__look'))
  t.equal(github.ran.filter(method => method === 'tools/call').length, 1)
})

t.test('prompts, and lists where nothing is shown, end with an error that has the address', async t => {
  const { open } = await setUp(t, { entry: { signInTool: false } })
  const alice = await open(ALICE)
  for (const [method, params] of [
    ['prompts/get', { name: 'github__x' }],
    ['tools/list', {}],
    ['resources/read', { uri: 'github+x://y' }],
  ] as const) {
    const { error } = await alice.ask(method, params)
    t.match(error, { code: -32603, data: { server: 'github', reason: 'needs-auth' } }, method)
    t.equal(linkIn(error.message), error.data.url, method)
    t.match(error.data.errorId, /^[\w-]+$/, 'what `mcp-proxy why` explains')
  }
})

t.test('with the tool, the other lists of such a server are empty and no error', async t => {
  const { open } = await setUp(t)
  const alice = await open(ALICE)
  t.same((await alice.ask('prompts/list')).result, { prompts: [] })
  t.same((await alice.ask('resources/list')).result, { resources: [] })
})

t.test('the client that was shown the page is told when that is complete, and no other', async t => {
  const { ask: get, open, call, names, signIn } = await setUp(t)
  const [shown, other] = [await open(ALICE, URL_MODE), await open(ALICE, URL_MODE)]
  const listen = (client: Client) =>
    get('/mcp', {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${ALICE}`,
        'mcp-session-id': client.id,
      },
    })
  const { error } = await call(shown, 'github__sign_in')
  const [{ elicitationId, url }] = error.data.elicitations
  const streams = [listen(shown), listen(other)]
  await signIn(url, ALICE, 'zelda')
  await until(async () => (await names(other)).includes('github__look'), 'the tools of the other')
  for (const client of [shown, other]) {
    await get('/mcp', {
      method: 'DELETE',
      headers: { authorization: `Bearer ${ALICE}`, 'mcp-session-id': client.id },
    })
  }
  const [mine = '', others = ''] = (await Promise.all(streams)).map(({ text }) => text)
  t.match(mine, `"method":"notifications/elicitation/complete","params":{"elicitationId":"${elicitationId}"}`)
  t.notMatch(others, 'elicitation/complete')
})

t.test('a link is useless to other users, in any way', async t => {
  const { open, call, browser, atGithub, github, origin } = await setUp(t)
  const [alice, bob] = [await open(ALICE), await open(BOB)]
  const link = linkIn(textOf(await call(alice, 'github__sign_in')))
  const bobs = browser()
  const stranger = await bobs.press(await bobs.open(link), 'token', { token: BOB })
  t.equal(stranger.status, 403)
  t.match(stranger.text, /This link belongs to another user/)
  t.notMatch(stranger.text, /alice/)
  const wrong = await bobs.press(await bobs.open(link), 'token', { token: createPersonalToken() })
  t.equal(wrong.status, 403)
  t.equal(github.to('/authorize').length + github.to('/register').length, 0, 'nobody was asked')

  const hers = browser()
  const known = await hers.press(await hers.open(link), 'token', { token: ALICE })
  t.match(known.text, new RegExp(`You sign in at.*${new URL(github.url).host}`))
  t.match(known.text, '<code>read</code>')
  t.equal((await bobs.open(link)).status, 404, 'it is in her browser now')
  t.equal((await browser().open(link)).status, 404)
  const away = await hers.press(known, 'continue')
  const back = await fetch(away.url, { redirect: 'manual', headers: { cookie: 'account=quincy' } })
  const answer = back.headers.get('location') ?? ''
  t.match(answer.slice(origin.length), /^\/oauth\/callback\/[\da-f]{32}\?/)
  t.equal((await bobs.open(answer)).status, 400, 'a callback in another browser')
  t.equal((await bobs.open(`${origin}/oauth/callback?code=x&state=unknown`)).status, 400)
  t.equal(github.to('/token').length, 0)
  t.equal(files(CREDENTIALS).length, 0)
  t.match((await call(bob, 'github__look')).result, { isError: true })
  const done = await atGithub(hers, away, 'zelda')
  t.match(done, { status: 200, url: link, text: /You are signed in to github/ })
  t.equal((await hers.open(answer)).status, 400, 'once')
  t.equal((await bobs.open(link)).status, 404)
  t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda')
  t.not(linkIn(textOf(await call(bob, 'github__look'))), link)
})

t.test('an answer of one issuer is never sent to the token endpoint of another', async t => {
  const [honest, hostile] = [await LoginServer.start(t), await LoginServer.start(t)]
  const publicUrl = 'https://p.test'
  const perPrincipal = { credentials: 'per-principal' }
  const { open, call, atGithub, origin } = await setUp(t, {
    auth: { ...AUTH, publicUrl },
    more: {
      mcpServers: {
        honest: { url: honest.mcpUrl, ...perPrincipal },
        hostile: { url: hostile.mcpUrl, ...perPrincipal },
      },
    },
  })
  for (const one of [honest, hostile]) one.metadata = { client_id_metadata_document_supported: true }
  const alice = await open(ALICE)
  const browser = new Browser(origin, publicUrl)
  const go = async (server: string): Promise<{ known: Visited; away: Visited }> => {
    const link = linkIn(textOf(await call(alice, `${server}__sign_in`)))
    const known = await browser.press(await browser.open(link), 'token', { token: ALICE })
    return { known, away: await browser.press(known, 'continue') }
  }
  const [atHonest, atHostile] = [await go('honest'), await go('hostile')]
  const { searchParams: good } = new URL(atHonest.away.url)
  const { searchParams: bad } = new URL(atHostile.away.url)
  for (const name of ['client_id', 'redirect_uri']) t.not(good.get(name), bad.get(name), name)
  t.match(atHostile.known.text, new RegExp(`next page must be at <strong>${new URL(hostile.url).host}`))

  // The hostile one sends her on to the honest one, whose code comes back with the `state` of the hostile
  // one.
  const callback = (redirect: string | null): string => `${redirect}?code=of-honest&state=${bad.get('state')}`
  for (const path of [good.get('redirect_uri'), `${publicUrl}/oauth/callback`, `${bad.get('redirect_uri')}/`])
    t.match(await browser.open(callback(path)), { status: 400, text: /This sign-in is over/ }, String(path))
  t.equal(hostile.to('/token').length + honest.to('/token').length, 0)

  t.match((await atGithub(browser, atHonest.away, 'zelda')).text, /You are signed in to honest/)
  t.equal(hostile.to('/token').length, 0)
  t.match((await atGithub(browser, atHostile.away, 'zelda')).text, /You are signed in to hostile/)
})

t.test(
  'a page for an issuer that identifies itself in its answers has no warning about its host',
  async t => {
    const { open, call, browser, github } = await setUp(t)
    github.metadata = { authorization_response_iss_parameter_supported: true }
    const link = linkIn(textOf(await call(await open(ALICE), 'github__sign_in')))
    const one = browser()
    const known = await one.press(await one.open(link), 'token', { token: ALICE })
    t.match(known.text, 'You sign in at')
    t.notMatch(known.text, 'next page must be')
  },
)

t.test('a form that another page sent does nothing, and no page can be framed, kept or leaked', async t => {
  const { open, call, browser, github, ask } = await setUp(t)
  const link = linkIn(textOf(await call(await open(ALICE), 'github__sign_in')))
  const hers = browser()
  const page = await hers.open(link)
  for (const [name, value] of [
    ['x-frame-options', 'DENY'],
    ['cache-control', 'no-store'],
    ['referrer-policy', 'no-referrer'],
    ['content-security-policy', /default-src 'none'.*frame-ancestors 'none'/],
  ] as const)
    t.match(page.headers.get(name), value)
  t.notMatch(page.text, /<script/)
  t.match(page.headers.get('set-cookie'), /HttpOnly; SameSite=Lax/)
  const { pathname } = new URL(link)
  t.notMatch(page.headers.get('set-cookie'), pathname.split('/').at(-1) ?? '', 'no cookie leads to the page')
  const send = (body: URLSearchParams, origin: string) =>
    hers.ask(pathname, { method: 'POST', headers: { origin }, body })
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const form = (token: string) => new URLSearchParams({ csrf: token, action: 'token', token: ALICE })
  t.equal((await send(form(''), new URL(link).origin)).status, 403)
  t.equal((await send(form(csrf), 'https://evil.test')).status, 403)
  const stolen = await browser().ask(pathname, { method: 'POST', body: form(csrf) })
  t.equal(stolen.status, 403, 'the form of another browser')
  const known = await hers.press(await hers.open(link), 'token', { token: ALICE })
  const other = /name="csrf" value="([^"]+)"/.exec(known.text)?.[1] ?? ''
  t.not(other, csrf, 'the cookie is another')
  const forged = new URLSearchParams({ csrf, action: 'continue' })
  t.equal((await send(forged, new URL(link).origin)).status, 403)
  t.equal((await ask(pathname, { method: 'PUT' })).status, 405)
  t.equal(github.to('/register').length, 0)
  t.match((await hers.press(known, 'deny')).text, /Nothing was done/)
  t.match((await hers.open(link)).text, /Nothing was done/)
})

t.test('a failed login shows the cause on our page, keeps nothing, and can be repeated', async t => {
  const { open, call, browser, atGithub, github } = await setUp(t)
  const link = linkIn(textOf(await call(await open(ALICE), 'github__sign_in')))
  const hers = browser()
  const known = await hers.press(await hers.open(link), 'token', { token: ALICE })
  github.answers.set('/token', () => ({ status: 400, body: { error: 'bad_verification_code' } }))
  const failed = await atGithub(hers, await hers.press(known, 'continue'), 'zelda')
  t.equal(failed.url, link, 'the address with the code is in no history')
  t.match(failed.text, /bad_verification_code/)
  github.answers.set('/token', () => ({ status: 400, body: { error: 'invalid_client' } }))
  const forgotten = await atGithub(hers, await hers.press(failed, 'continue'), 'zelda')
  t.match(forgotten.text, /no longer knows this proxy; try again/)
  github.answers.delete('/token')
  t.equal(files(CREDENTIALS).length, 0)
  github.answers.set('/register', () => ({ status: 422, body: {} }))
  const refused = await hers.press(forgotten, 'continue')
  t.match(refused.text, /refused to register us/)
  github.answers.delete('/register')
  const done = await atGithub(hers, await hers.press(refused, 'continue'), 'zelda')
  t.match(done.text, /You are signed in/)
})

t.test('more scopes are asked for on the page as well', async t => {
  const { open, call, signIn, github, leaks } = await setUp(t)
  const alice = await open(ALICE)
  await signIn(linkIn(textOf(await call(alice, 'github__sign_in'))), ALICE, 'zelda')
  github.toolScopes.set('change', 'admin')
  await until(async () => textOf(await call(alice, 'github__look')) === 'did look as zelda', 'the login')
  const more = textOf(await call(alice, 'github__change'))
  t.match(more, /^Grant this proxy more access at github, then ask again/)
  await signIn(linkIn(more), ALICE, 'zelda')
  t.equal(github.to('/authorize').at(-1)?.query.get('scope'), 'read admin')
  t.equal(textOf(await call(alice, 'github__change')), 'did change as zelda')
  github.expire()
  t.equal(textOf(await call(alice, 'github__change')), 'did change as zelda', 'renewed')
  github.answers.set('/token', github.echo)
  github.expire()
  t.match((await call(alice, 'github__change')).error.message, /which failed: .*invalid_request/)
  t.same(leaks(), [])
})

t.test('10 000 calls of two people: nothing of one ever reaches the other', async t => {
  const { open, call, names, signIn, github, heard, proxy, origin } = await setUp(t)
  const [alice, bob] = [await open(ALICE), await open(BOB)]
  for (const [client, token, account] of [
    [alice, ALICE, 'zelda'],
    [bob, BOB, 'quincy'],
  ] as const) {
    await signIn(linkIn(textOf(await call(client, 'github__sign_in'))), token, account)
    await until(async () => (await names(client)).includes(`github__of_${account}`), account)
  }
  const rounds = Number(process.env['PER_PRINCIPAL_CALLS'] ?? 600) / 4
  let wrong = 0
  const one = async (client: Client, account: string, round: number): Promise<void> => {
    const [list, said] = await Promise.all([names(client), call(client, 'github__look')])
    const isOwn = list.join() === `github__look,github__change,github__of_${account}`
    if (!isOwn || textOf(said) !== `did look as ${account}`) wrong += 1
    // Tokens are renewed under way, one for each.
    if (round % 50 === 25) github.expire()
  }
  for (let round = 0; round < rounds; round += 1)
    await Promise.all([one(alice, 'zelda', round), one(bob, 'quincy', round)])
  t.equal(wrong, 0)
  t.notMatch(heard[BOB], /zelda/)
  t.notMatch(heard[ALICE], /quincy/)
  const tokens = new Map<string, Set<string>>()
  for (const { headers } of github.to('/mcp')) {
    const token = headers.authorization ?? ''
    const session = String(headers['mcp-session-id'] ?? '')
    tokens.set(token, (tokens.get(token) ?? new Set()).add(session))
  }
  t.ok(tokens.size > 2, 'tokens were renewed')
  const github_ = proxy.status().servers.find(({ name }) => name === 'github')
  t.match(github_, { connections: 2, items: undefined, principals: { served: 2, signedIn: 2 } })
  const status = await (await fetch(`${origin}/status`)).text()
  for (const word of ['zelda', 'quincy', 'alice', ...github.secrets]) t.notMatch(status, word)
})

t.test('without "auth", a local program signs in where the operator approves it', async t => {
  for (const credentials of ['per-principal', 'shared']) {
    rmSync(STATE, { recursive: true, force: true })
    const { github, open, call, browser, atGithub } = await setUp(t, {
      auth: undefined,
      entry: { credentials },
    })
    const local = await open('nobody asks')
    const isShared = credentials === 'shared'
    const { result, error } = await call(local, 'github__look')
    if (isShared) {
      t.match(error, { code: -32603, data: { server: 'github', reason: 'needs-auth' } })
      t.match(error.message, /run `mcp-proxy auth login github`, or open http/)
    }
    const link = linkIn(isShared ? error.message : textOf({ result }))
    const page = await browser().open(link)
    const shown = browser()
    const waiting = await shown.open(link)
    t.match(waiting.text, /http-equiv="refresh"/)
    t.not(codeOn(waiting), codeOn(page), 'each browser has a code of its own')
    t.match(await approveSignIn(STATE, { code: codeOn(waiting), as: 'alice' }), { isApproved: false })
    t.match(await approveSignIn(STATE, { code: codeOn(waiting), as: undefined }), {
      isApproved: true,
      words: /a browser that signs in to github/,
    })
    const known = await shown.open(link)
    t.match(known.text, 'value="continue"')
    t.match((await atGithub(shown, await shown.press(known, 'continue'), 'zelda')).text, /You are signed in/)
    await until(async () => textOf(await call(local, 'github__look')) === 'did look as zelda', 'the login')
    t.match(github.to('/register')[0]?.json, { application_type: 'web' })
    const config = configFile(t, { github: { url: github.mcpUrl, credentials } })
    const status = await runHere(t, 'auth', 'status', '--config', config)
    t.match(status.out, new RegExp(`github +${isShared ? 'shared' : 'local'} +ok`))
  }
})

t.test('the command line signs local programs in, and shows and ends those logins alone', async t => {
  const { github, open, call, signIn } = await setUp(t)
  await signIn(linkIn(textOf(await call(await open(ALICE), 'github__sign_in'))), ALICE, 'zelda')
  setEnv(t, { BROWSER })
  const config = configFile(t, { github: { url: github.mcpUrl, credentials: 'per-principal' } })
  const run = (...argv: string[]) => runHere(t, ...argv, '--config', config)
  t.match((await run('call', 'github__look')).err, /run `mcp-proxy auth login github`/)
  t.match((await run('list')).out, /github__sign_in/)
  t.match((await run('auth', 'status')).out, /github +local +needs-auth/)
  t.match(await run('auth', 'login', 'github'), { code: 0 })
  t.match(await run('call', 'github__look'), { code: 0, out: 'did look\n' })
  const kinds = github.to('/register').map(({ json }) => json?.['application_type'])
  t.same(kinds, ['web', 'native'], 'one registration for pages, one for the command line')
  const all = (await run('auth', 'status', '--all')).out
  t.match(all, /github +local +ok +read/)
  t.match(all, /github +person alice +ok +read/)
  t.notMatch((await run('auth', 'status')).out, 'alice')
  t.match(await run('auth', 'logout', 'github'), { out: 'github: signed out.\n' })
  t.match((await run('auth', 'status', '--all')).out, /github +person alice +ok/)
})

t.test('a user who is removed from the configuration, or loses the last token, loses all logins', async t => {
  const { open, call, signIn, github, proxy } = await setUp(t)
  for (const [token, account] of [
    [ALICE, 'zelda'],
    [BOB, 'quincy'],
  ] as const)
    await signIn(linkIn(textOf(await call(await open(token), 'github__sign_in'))), token, account)
  t.equal(files(CREDENTIALS).length, 2)
  const mcpServers = { github: { url: github.mcpUrl, credentials: 'per-principal' } }
  const { alice } = AUTH.people
  proxy.reload(configWith({ people: { alice, bob: { tokens: [] } } }, { mcpServers }))
  await until(async () => files(CREDENTIALS).length === 1, 'the end of a login')
  t.equal(github.to('/revoke').length, 2, 'its tokens were taken back')
  t.equal(textOf(await call(await open(ALICE), 'github__look')), 'did look as zelda')
  await proxy.close()
})

t.test('other settings of the server reach each principal’s own', async t => {
  const { open, call, names, signIn, github, proxy } = await setUp(t)
  const alice = await open(ALICE)
  await signIn(linkIn(textOf(await call(alice, 'github__sign_in'))), ALICE, 'zelda')
  await until(async () => (await names(alice)).includes('github__look'), 'the login')
  const entry = { url: github.mcpUrl, credentials: 'per-principal' }
  const reload = (more: object): void => {
    proxy.reload(configWith(AUTH, { mcpServers: { github: { ...entry, ...more } } }))
  }
  reload({ tools: { deny: ['change'] } })
  t.same(await names(alice), ['github__look', 'github__of_zelda'])
  reload({ tools: { rename: { look: 'see' } } })
  t.same(await names(alice), ['github__see', 'github__change', 'github__of_zelda'])
  reload({ oauth: { scopes: ['read'] } })
  await until(async () => (await names(alice)).includes('github__look'), 'the server in its place')
  t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda')
  reload({ credentials: 'shared' })
  await until(async () => (await call(alice, 'github__look')).error !== undefined, 'the shared one')
  t.equal((await call(alice, 'github__look')).error.data.reason, 'needs-auth', 'with a login of its own')
})

t.test('our metadata document is there for everybody where others can read it', async t => {
  const publicUrl = 'https://p.test'
  const { ask } = await setUp(t, { auth: { ...AUTH, publicUrl } })
  const headers = { host: 'p.test', origin: 'https://x.test' }
  const hash = '0123456789abcdef'.repeat(2)
  const { status, text, headers: said } = await ask(`/oauth/client/${hash}.json`, { headers })
  t.equal(status, 200)
  t.match(said, { 'access-control-allow-origin': '*', 'content-type': /json/ })
  t.match(JSON.parse(text), {
    client_id: `https://p.test/oauth/client/${hash}.json`,
    redirect_uris: [`https://p.test/oauth/callback/${hash}`],
    application_type: 'web',
    token_endpoint_auth_method: 'none',
  })
  for (const other of ['/oauth/client.json', '/oauth/client/.json', '/oauth/client/x.json'])
    t.equal((await ask(other, { headers: { host: 'p.test' } })).status, 404, other)
  const { ask: here } = await setUp(t)
  t.equal((await here(`/oauth/client/${hash}.json`)).status, 404, 'nobody else can reach this machine')
})

t.test('who signed in at our authorization server, or at its provider, need not do so again', async t => {
  const idp = await FakeIssuer.start(t)
  let nonce: string | null = null
  const metadata = {
    ...idp.metadata,
    authorization_endpoint: `${idp.issuer}/authorize`,
    token_endpoint: `${idp.issuer}/token`,
    id_token_signing_alg_values_supported: ['ES256'],
  }
  idp.answers.set('/.well-known/openid-configuration', (_request, response) => json(response, metadata))
  let sub = 'sub-alice'
  idp.answers.set('/token', (_request, response) => {
    const claims = { sub, nonce, iat: Math.floor(Date.now() / 1000) }
    void idp
      .sign('proxy', { claims })
      .then(token => json(response, { access_token: 'x', token_type: 'Bearer', id_token: token }))
  })
  const subjects = [{ issuer: idp.issuer, sub: 'sub-alice' }]
  const auth = {
    embedded: { login: { issuer: idp.issuer, clientId: 'proxy' } },
    people: { ...AUTH.people, alice: { ...AUTH.people.alice, subjects } },
  }
  const { open, call, browser, atGithub, origin } = await setUp(t, { auth })
  const alice = await open(ALICE)
  const link = linkIn(textOf(await call(alice, 'github__sign_in')))
  const atProvider = async (one: Browser, away: Visited): Promise<Visited> => {
    const { searchParams } = new URL(away.url)
    nonce = searchParams.get('nonce')
    return await one.open(`${origin}/oauth/callback?code=idp-code&state=${searchParams.get('state')}`)
  }
  const bobs = browser()
  sub = 'sub-bob'
  const asked = await bobs.open(link)
  t.match(asked.text, new RegExp(`Sign in at ${new URL(idp.issuer).host}`))
  const stranger = await atProvider(bobs, await bobs.press(asked, 'identify'))
  t.match(stranger, { status: 403, url: link, text: /belongs to another user/ })
  const again = await bobs.press(stranger, 'switch')
  t.match(again.text, 'value="identify"')
  const refused = await bobs.press(again, 'identify')
  const { searchParams } = new URL(refused.url)
  const denied = await bobs.open(
    `${origin}/oauth/callback?error=access_denied&state=${searchParams.get('state')}`,
  )
  t.match(denied, { status: 403, url: link, text: /You were not signed in there/ })

  sub = 'sub-alice'
  const hers = browser()
  const known = await atProvider(hers, await hers.press(await hers.open(link), 'identify'))
  t.match(known, { url: link, text: /value="continue"/ })
  t.match((await atGithub(hers, await hers.press(known, 'continue'), 'zelda')).text, /You are signed in/)
  t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda')

  const { body } = await register({ base: origin })
  const path = authorizePath(String(body['client_id']))
  const [one, other] = [browser(), browser()]
  await allowWith(one, path, BOB)
  await allowWith(other, path, ALICE)
  const bobsLink = linkIn(textOf(await call(await open(BOB), 'github__sign_in')))
  t.match(
    await other.open(bobsLink),
    { status: 403, text: /belongs to another user/ },
    'by the cookie of alice',
  )
  t.match(await one.open(bobsLink), { status: 200, text: /value="continue"/ }, 'by that of bob')
})

t.test('real clients: SDK 2.4 opens the page when asked to, SDK 1.32 reads where it is', async t => {
  const { signIn, origin, browser } = await setUp(t)
  t.ok(browser)
  const url = new URL(`${origin}/mcp`)
  const options = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })
  const modern = new ModernSdk(
    { name: 'modern', version: '1' },
    { capabilities: URL_MODE, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  modern.setRequestHandler('elicitation/create', async ({ params }) => {
    void signIn((params as unknown as { url: string }).url, ALICE, 'zelda')
    return { action: 'accept' }
  })
  await modern.connect(new ModernHttp(url, options(ALICE)))
  t.match(await modern.callTool({ name: 'github__sign_in', arguments: {} }), {
    content: [{ text: /^Signed in to github/ }],
  })
  t.match(await modern.callTool({ name: 'github__look', arguments: {} }), {
    content: [{ text: 'did look as zelda' }],
  })
  await modern.close()

  const legacy = new LegacySdk({ name: 'legacy', version: '1' }, { capabilities: {} })
  await legacy.connect(new LegacyHttp(url, options(BOB)))
  const { tools } = await legacy.listTools()
  t.same(
    tools.map(({ name }) => name),
    ['github__sign_in'],
  )
  const said = await legacy.callTool({ name: 'github__sign_in', arguments: {} })
  await signIn(linkIn(JSON.stringify(said)), BOB, 'quincy')
  await until(async () => (await legacy.listTools()).tools.length === 3, 'the tools of bob')
  t.match(await legacy.callTool({ name: 'github__look', arguments: {} }), {
    content: [{ text: 'did look as quincy' }],
  })
  await legacy.close()

  const able = new LegacySdk({ name: 'able', version: '1' }, { capabilities: { elicitation: { url: {} } } })
  const done: unknown[] = []
  able.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => void done.push(params))
  let changes = 0
  able.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1
  })
  await able.connect(new LegacyHttp(url, options(CAROL)))
  t.equal((await able.listTools()).tools.length, 1)
  const error = await able
    .callTool({ name: 'github__sign_in', arguments: {} })
    .catch((thrown: unknown) => thrown)
  if (!(error instanceof UrlElicitationRequiredError)) throw new Error(`not asked: ${String(error)}`)
  const [asked] = error.elicitations
  await signIn(asked?.url ?? '', CAROL, 'ludmilla')
  await until(async () => done.length === 1 && changes > 0, 'the word that it is done, and of the tools')
  t.match(done, [{ elicitationId: asked?.elicitationId }])
  t.match(await able.callTool({ name: 'github__look', arguments: {} }), {
    content: [{ text: 'did look as ludmilla' }],
  })
  await able.close()
})

t.test('an authorization server that reads our document needs no registration', async t => {
  const publicUrl = 'https://p.test'
  const { github, ask, open, call, signIn, origin } = await setUp(t, { auth: { ...AUTH, publicUrl } })
  github.metadata = { client_id_metadata_document_supported: true }
  // Only it can tell where p.test is.
  const read: Record<string, unknown>[] = []
  github.answers.set('/authorize', async ({ query }) => {
    const id = new URL(query.get('client_id') ?? '')
    const { status, text } = await ask(id.pathname, { headers: { host: id.host } })
    const document = JSON.parse(text)
    read.push({ status, id: id.href, named: document.client_id })
    return document.redirect_uris.includes(query.get('redirect_uri')) ? undefined : { status: 400, body: {} }
  })
  const alice = await open(ALICE)
  const link = linkIn(textOf(await call(alice, 'github__sign_in')))
  t.ok(link.startsWith(`${publicUrl}/oauth/connect/`))
  const page = await signIn(link, ALICE, 'zelda', new Browser(origin, publicUrl))
  t.match(page.text, /You are signed in to github/)
  const id = github.to('/authorize')[0]?.query.get('client_id')
  t.match(id, /^https:\/\/p\.test\/oauth\/client\/[\da-f]{32}\.json$/)
  t.same(read, [{ status: 200, id, named: id }])
  t.same(github.to('/register'), [])
  t.equal(github.to('/token')[0]?.form.get('client_id'), id)
  await until(async () => textOf(await call(alice, 'github__look')) === 'did look as zelda', 'the login')
  github.expire()
  t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda')
  t.equal(github.to('/token')[1]?.form.get('client_id'), id, 'also when it is renewed')
})

t.test(
  'limits.principalsPerServer: an absent principal makes room, otherwise the server is not shown',
  async t => {
    const { open, call, names, signIn, github, proxy, ask } = await setUp(t, {
      more: { limits: { principalsPerServer: 1 } },
    })
    const alice = await open(ALICE)
    await signIn(linkIn(textOf(await call(alice, 'github__sign_in'))), ALICE, 'zelda')
    await until(async () => (await names(alice)).includes('github__look'), 'the login')
    const bob = await open(BOB)
    t.same(await names(bob), [], 'she is here')
    t.equal((await call(bob, 'github__look')).error.code, -32602, 'like a name that never was')
    t.ok((proxy.status().limits['principalsPerServer']?.hits ?? 0) > 0)
    t.equal(textOf(await call(alice, 'github__look')), 'did look as zelda', 'and notices nothing')

    const leave = (token: string, { id }: Client) =>
      ask('/mcp', { method: 'DELETE', headers: { authorization: `Bearer ${token}`, 'mcp-session-id': id } })
    await leave(ALICE, alice)
    t.same(await names(bob), ['github__sign_in'])
    await leave(BOB, bob)
    const again = await open(ALICE)
    t.equal(textOf(await call(again, 'github__look')), 'did look as zelda', 'her login was kept')
    t.equal(github.to('/authorize').length, 1)
  },
)

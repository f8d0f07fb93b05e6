import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { approveSignIn } from '../../src/auth/authorization-server/sign-in/approvals.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { createAxe, lacksBrowser, openBrowser, tabTo, watchPage } from '../support/browser.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { type Authorized, startAuthorized } from '../support/proxy/authorized.js'

const SPEC_SERVER = fileURLToPath(new URL('../fixtures/spec-server.mjs', import.meta.url))

const HOSTILE = 'pay\n```\nserver: "bank"<img src=x onerror=alert(1)>\u202e'
const TOOLS = [{ name: 'refund' }, { name: HOSTILE }].map(tool => ({
  ...tool,
  inputSchema: { type: 'object' },
}))

const [ANN, ANN_PAGE, BOB, CARL] = Array.from({ length: 4 }, createPersonalToken)
const hashOf = (token = ''): string => `sha256:${tokenHash(token)}`
const PEOPLE = {
  ann: {
    tokens: [
      { name: 'client', hash: hashOf(ANN) },
      { name: 'page', hash: hashOf(ANN_PAGE), for: 'page' },
    ],
  },
  bob: { tokens: [{ hash: hashOf(BOB) }], scopes: ['mcp', 'finance'] },
  carl: { tokens: [{ hash: hashOf(CARL) }] },
}
const AUTH = { people: PEOPLE }

const start = async (t: Test, rules: readonly object[], auth?: object) => {
  const file = join(t.testdir(), 'shop.json')
  writeFileSync(file, JSON.stringify({ tools: TOOLS }))
  const mcpServers = { shop: { command: process.execPath, args: [SPEC_SERVER, file] } }
  const stateDir = join(t.testdirName, 'state')
  const authorized = await startAuthorized(t, auth, {
    ...{ more: { mcpServers, rules, startupWait: '60s', knownServers: false }, stateDir, listWaitMs: 60_000 },
  })
  return { ...authorized, stateDir }
}

/** A client that cannot be asked, and the refusals of its calls. */
class Caller {
  readonly client: RawClient
  #calls = 0

  private constructor(client: RawClient) {
    this.client = client
  }

  static async connect({ origin }: Authorized, token?: string): Promise<Caller> {
    const client = new RawClient(`${origin}/mcp`)
    if (token !== undefined) client.headers = { authorization: `Bearer ${token}` }
    await client.initialize()
    await client.request('tools/list')
    return new Caller(client)
  }

  async call(name: string, args: unknown = {}): Promise<Loose> {
    this.#calls += 1
    return (await this.client.call(this.#calls, name, JSON.stringify(args))).last.message
  }

  async urlOf(name: string, args: unknown = {}): Promise<string> {
    const { result } = await this.call(name, args)
    return result._meta['mcp-proxy/refused'].approval.url
  }
}

const textOf = (message: Loose): string => message.result.content[0].text
const see = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()
const heading = (page: Page) => page.locator('h1').innerText()

/** Checks a page with axe-core and for its width, and that no text of others became markup. */
const look = async (t: Test, page: Page, name: string): Promise<void> => {
  const axe = await createAxe(page)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    t.same(await axe(), [], `${name}, ${colorScheme}`)
  }
  const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  t.ok(Number(over) <= 0, `${name} is ${over} too wide`)
  t.equal(await page.locator('main img, main script, main b').count(), 0, `${name} has no other markup`)
}

const open = async (context: BrowserContext, url: string) => {
  const page = await context.newPage()
  await page.setViewportSize({ width: 390, height: 800 })
  const watched = watchPage(page)
  const response = await page.goto(url)
  return { page, status: response?.status(), ...watched }
}

t.test(
  'a person decides in a browser, by keyboard alone',
  { skip: lacksBrowser, timeout: 120_000 },
  async t => {
    const proxy = await start(t, [{ id: 'money', then: 'ask', reason: 'Money is spent.' }])
    const newContext = await openBrowser(t)
    const caller = await Caller.connect(proxy)
    const name = (await caller.client.request('tools/list')).last.message.result.tools[1].name
    const args = {
      note: '\u202e<img src=x onerror=alert(1)>\u200b`',
      long: 'x'.repeat(5000),
      tail: 'the end',
    }
    const url = await caller.urlOf(name, args)
    const context = await newContext()
    const { page, complaints } = await open(context, url)
    t.equal(await heading(page), 'Who are you?')
    t.notMatch(
      await page.locator('body').innerText(),
      /shop|refund|pay|bank|note|Money/,
      'it reveals nothing about the call',
    )
    await look(t, page, 'the sign-in')
    const code = /auth approve (\w+)/.exec(await page.locator('code').innerText())?.[1] ?? ''
    t.match(await approveSignIn(proxy.stateDir, { code, as: undefined }), { isApproved: true })
    await see(page, 'Allow this call?')
    await look(t, page, 'the question')
    const box = await page.locator('pre').innerText()
    t.same(
      box.split('\n').map(line => line.split(':')[0]),
      ['server', 'tool', 'arguments'],
    )
    t.match(box, 'the end', 'it shows the whole arguments')
    t.ok(/^[\n -~]*$/.test(box) && !/[<>`]/.test(box), 'it shows plain characters')
    t.match(await page.locator('main').innerText(), 'Rule "money": Money is spent.')
    await tabTo(page, 'button[value=allow]')
    await page.keyboard.press('Enter')
    await see(page, 'The call is allowed')
    await look(t, page, 'the decision')
    t.match(textOf(await caller.call(name, args)), /^ran pay/)
    t.equal((await page.goto(url))?.status(), 404)
    await look(t, page, 'the end')

    const other = await open(context, await caller.urlOf('shop__refund'))
    t.equal(await heading(other.page), 'Who are you?', 'each call is decided by itself')
    const again = /auth approve (\w+)/.exec(await other.page.locator('code').innerText())?.[1] ?? ''
    await approveSignIn(proxy.stateDir, { code: again, as: undefined })
    await see(other.page, 'Allow this call?')
    await tabTo(other.page, 'button')
    t.equal(await other.page.locator(':focus').innerText(), 'Do not allow', 'this is the first choice')
    await other.page.keyboard.press('Space')
    await see(other.page, 'The call is refused')
    t.match(textOf(await caller.call('shop__refund')), /^Approval declined/)
    t.same(
      [...complaints, ...other.complaints].filter(text => !/404/.test(text)),
      [],
    )
  },
)

t.test(
  'people sign in on the page with tokens, and others learn nothing',
  { skip: lacksBrowser, timeout: 120_000 },
  async t => {
    const rules = [
      { id: 'second', tool: 'refund', then: 'ask', ask: { of: { people: ['b*'], scopes: ['finance'] } } },
      { id: 'own', then: 'ask' },
    ]
    const proxy = await start(t, rules, AUTH)
    const newContext = await openBrowser(t)
    const caller = await Caller.connect(proxy, ANN)
    const name = (await caller.client.request('tools/list')).last.message.result.tools[1].name
    const signIn = async (page: Page, token = ''): Promise<string> => {
      await tabTo(page, '#token')
      await page.keyboard.type(token)
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
      return await heading(page)
    }

    await t.test('the caller shows presence by a token for pages alone', async t => {
      const url = await caller.urlOf(name, { order: 'A-17' })
      const { page, complaints } = await open(await newContext(), url)
      await look(t, page, 'the sign-in')
      t.equal(await signIn(page, ANN), 'Who are you?', 'a token that a client holds proves nothing')
      await look(t, page, 'the wrong token')
      t.notMatch(await page.locator('body').innerText(), /A-17|own/)
      t.equal(await signIn(page, ANN_PAGE), 'Allow this call?')
      await tabTo(page, 'button[value=allow]')
      await page.keyboard.press('Enter')
      await see(page, 'The call is allowed')
      t.match(textOf(await caller.call(name, { order: 'A-17' })), /^ran pay/)
      t.equal((await proxy.initialize(ANN_PAGE)).status, 401, 'no client can use that token')
      t.equal((await proxy.initialize(ANN)).status, 200)
      t.same(
        complaints.filter(text => !/403/.test(text)),
        [],
      )
    })

    await t.test('only the named people decide about the calls of others', async t => {
      const held = caller.call('shop__refund', { order: 'B-18' })
      const api = await proxy.proxy.api()
      const question = { method: 'GET', path: '/approvals', query: new URLSearchParams(), body: '' }
      let approvals: Loose[] = []
      await until(async () => {
        approvals = ((await api.answer(question)) as Loose).value.approvals
        return approvals.length > 0
      }, 'the question')
      t.match(approvals, [
        { principal: 'person ann', name: 'refund', arguments: null, of: { people: ['b*'] } },
      ])
      const context = await newContext()
      const { page } = await open(context, approvals[0].url)
      for (const token of [ANN_PAGE, CARL]) {
        t.equal(await signIn(page, token), 'You may not decide about this call')
        t.notMatch(await page.locator('body').innerText(), /B-18|refund|shop|second/)
        await look(t, page, 'the refusal')
        t.equal((await page.reload())?.status(), 403)
        await tabTo(page, 'button')
        await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
      }
      t.equal(await signIn(page, BOB), 'Allow this call?')
      const shown = await page.locator('main').innerText()
      t.match(shown, 'Caller: person ann')
      t.match(shown, '{"order":"B-18"}')
      await look(t, page, 'the question')
      await tabTo(page, 'button[value=allow]')
      await page.keyboard.press('Enter')
      await see(page, 'The call is allowed')
      t.match(textOf(await held), 'ran refund')
    })
  },
)

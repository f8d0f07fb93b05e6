import { copyFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createProxy, type Proxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { KeptLines } from '../../src/telemetry/logs/kept-lines.js'
import { createLogger } from '../../src/telemetry/logs/logger.js'
import { coverPage, createAxe, lacksBrowser, openBrowser, tabTo, watchPage } from '../support/browser.js'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { rawServer, TINY, tiny } from '../support/proxy/start.js'
import { listenFor } from '../support/server/plain-http-server.js'

const MARKUP_SERVER = fileURLToPath(new URL('../fixtures/markup-server.mjs', import.meta.url))
const TOOLS = 9_990

const startProxy = async (t: Test) => {
  const script = join(t.testdir(), 'server.mjs')
  await copyFile(TINY, script)
  const mcpServers = {
    raw: rawServer(),
    mortal: { command: process.execPath, args: [script], start: 'eager' },
    dead: { ...tiny('--die'), start: 'eager' },
    hostile: { command: process.execPath, args: [MARKUP_SERVER, String(TOOLS)], start: 'eager' },
    tiny: { ...tiny(), start: 'eager' },
    off: { ...tiny(), disabled: true },
  }
  const text = JSON.stringify({ mcpServers, limits: { body: '1MiB' }, startupWait: '60s' })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const lines = new KeptLines()
  const log = await createLogger({
    ...{ level: 'info', isTerminal: false, sink: { write: () => undefined } },
    keep: sink => lines.over(sink),
  })
  const configStatus = () => ({
    ...{ file: 'test.json', generation: 1, loadedAt: new Date().toISOString(), lastReload: undefined },
    ...{ problems: { errors: 0, warnings: 0 }, disabled: ['off'] },
  })
  const options = { listWaitMs: 60_000, lines, log, configProblems: () => problems, configStatus }
  const proxy = createProxy(config, options)
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  return { proxy, url, script, at: (code: string) => new URL(`/ui/#${code}`, url).href }
}

const serverOf = (proxy: Proxy, name: string) => proxy.status().servers.find(one => one.name === name)

// What runs in the page is text: these tests are checked without the types of browsers.
const open = (page: Page, view: string) => page.evaluate(`location.hash = ${JSON.stringify(`#/${view}`)}`)

const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()

const VIEWS: readonly (readonly [view: string, shows: string])[] = [
  ['', '.troubles'],
  ['servers', '.table'],
  ['servers/hostile', '.log'],
  ['servers/dead', '.troubles'],
  ['servers/nobody', '.why'],
  ['tools', '.table'],
  ['tools/hostile__markup', '.try'],
  ['tools?nothing such', '.why'],
  ['calls', '.filter'],
  ['clients', '.table, .empty'],
  ['tools/nobody', '.why'],
  ['errors', '.filter'],
  ['errors/zzzz-1', '.why'],
  ['limits', '.table'],
  ['configuration', 'pre'],
]

/** The heads of columns that are not whole in sight. */
const CUT_CELLS = `[...document.querySelectorAll('.table .head .cell')].filter(cell =>
  cell.getBoundingClientRect().right > cell.closest('.table').getBoundingClientRect().right).map(cell => cell.textContent)`

/** Whether a peer got more into the document than text. */
const hasMarkup = (page: Page) =>
  page.evaluate("document.querySelector('img, iframe, object, [onerror], script:not([src])') !== null")

t.test('the page, in a browser', { skip: lacksBrowser, timeout: 300_000 }, async t => {
  const { proxy, url, script, at } = await startProxy(t)
  await until(() => serverOf(proxy, 'hostile')?.state === 'ready', 'the hostile server')
  await until(() => serverOf(proxy, 'mortal')?.state === 'ready', 'the mortal one')
  const newContext = await openBrowser(t)
  const context = await newContext()
  const page = await context.newPage()
  const { complaints, origins } = watchPage(page)
  await coverPage(t, page, 'dist/ui/app.js')
  const code = proxy.pageSessions().newCode()
  await page.goto(at(code))

  await t.test('a code lets one page in, and is nowhere afterwards', async t => {
    await page.locator('main h2').waitFor()
    t.equal(await page.locator('main').count(), 1, 'nothing of the empty page is left')
    t.equal(new URL(page.url()).hash, '#/')
    const other = await (await newContext()).newPage()
    await other.goto(at(code))
    await see(other, 'used, or older than a minute')
    await other.goto(new URL('/ui/?nobody', url).href)
    await see(other, 'Sign-in required')
    await page.reload()
    await page.locator('main h2').waitFor()
    const tab = await context.newPage()
    await tab.goto(new URL('/ui/', url).href)
    await see(tab, 'Each tab needs its own code')
    await tab.goto(at(proxy.pageSessions().newCode()))
    await tab.locator('main h2').waitFor()
    await tab.close()
    await page.reload()
    await page.locator('main h2').waitFor()
    const { proxy: neighbour, at: atNeighbour } = await startProxy(t)
    const beside = await context.newPage()
    await beside.goto(atNeighbour(neighbour.pageSessions().newCode()))
    await beside.locator('main h2').waitFor()
    await page.reload()
    await page.locator('main h2').waitFor()
    t.pass('a second proxy on the host leaves the page open')
    await beside.close()
    await neighbour.close()
  })

  await t.test('a server that fails is seen as it does, with the command that says more', async t => {
    await see(page, 'mcp-proxy logs dead')
    await rm(script)
    process.kill(serverOf(proxy, 'mortal')?.pids[0] ?? 0, 'SIGKILL')
    await see(page, 'mcp-proxy logs mortal')
    t.pass('the page shows it')
  })

  await t.test('a call is visible while it is in flight, and after it has ended', async t => {
    await open(page, 'calls')
    const client = new RawClient(url)
    await client.initialize()
    const waiting = client.call(1, 'raw__wait', '{"key":"k"}')
    await see(page, 'at its server')
    await client.call(2, 'raw__release', '{"key":"k"}')
    await waiting
    await page.getByRole('row', { name: /raw › wait.*ok/ }).waitFor()
    await page.keyboard.press('p')
    await page.getByRole('button', { name: 'Go on' }).waitFor()
    await client.call(3, 'raw__echo', '{}')
    await page.keyboard.press('p')
    await page.getByRole('row', { name: /raw › echo/ }).waitFor()
    t.pass('both are there')
  })

  await t.test('keys alone lead everywhere', async t => {
    await page.keyboard.press('2')
    await page.locator('main[aria-label="Servers"]').getByText('hostile').first().waitFor()
    await tabTo(page, '.body a')
    await page.keyboard.press('ArrowDown')
    const focused = () => page.evaluate('document.activeElement.textContent')
    await until(async () => (await focused()) === 'mortal', 'its focus')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'mortal' }).waitFor()
    await page.keyboard.press('r')
    await page.getByRole('dialog', { name: 'Restart' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Restart' }).waitFor({ state: 'hidden' })
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('r')
    await page.getByRole('dialog', { name: 'Restart' }).waitFor()
    await page.evaluate(`
      document.querySelector('dialog[open]').close()
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
    `)
    await page.waitForURL(/#\/servers$/)
    await page.keyboard.press('3')
    await page.locator('main[aria-label="Tools"] #filter').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('raw__ec')
    await page.getByRole('link', { name: 'raw__echo' }).waitFor()
    await tabTo(page, '.body a')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Call', exact: true }).waitFor()
    await tabTo(page, 'form button')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Call raw__echo' }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.result').waitFor()
    t.match(await page.locator('.result').innerText(), /ok.*\{\}/s)
  })

  await t.test('typed text stays when the page is updated', async t => {
    const filter = page.locator('#filter')
    await open(page, 'tools')
    await filter.waitFor()
    await page.evaluate(`
      const line = document.getElementById('filter')
      line.focus()
      line.value = 'raw__ech'
      line.dispatchEvent(new InputEvent('input', { bubbles: true }))
      line.value = 'raw__echo'
    `)
    await page.waitForURL(/\?raw__ech$/)
    await page.getByText(/^1 tool,/).waitFor()
    t.equal(await filter.inputValue(), 'raw__echo')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('Escape')
    await page.waitForURL(/#\/tools$/)
    await until(async () => (await filter.inputValue()) === '', 'an empty filter')
  })

  await t.test('a tool is tried, with its progress, and cancelled', async t => {
    const form = page.locator('.try')
    await open(page, 'tools/raw__wait')
    await form.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('button', { name: 'Call it' }).click()
    await form.getByRole('button', { name: 'Cancel' }).click()
    await see(page, 'cancelled')
    await open(page, 'tools/hostile__long')
    await form.getByLabel(/<img/).fill('<b>')
    await form.getByRole('button', { name: 'Call', exact: true }).click()
    const more = page.getByRole('button', { name: /show more \(1022 KiB left\)/ })
    await more.click()
    await page.getByRole('button', { name: /show more \(958 KiB left\)/ }).waitFor()
    t.equal(await hasMarkup(page), false)
  })

  await t.test('ten thousand tools are found by words, and few of them are in the document', async t => {
    await open(page, 'tools')
    await see(page, /10,000 tools.*of 10,0\d\d/)
    const nodes = async () => Number(await page.evaluate("document.querySelectorAll('*').length"))
    t.ok((await nodes()) < 2000, 'the top')
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await see(page, /hostile__tool_[45]\d\d\d/)
    t.ok((await nodes()) < 2000, 'the middle')
    await page.getByRole('searchbox').fill('thing 9876')
    await page.getByRole('link', { name: 'hostile__tool_9876' }).waitFor()
    t.equal(await page.locator('.body [role=row]').count(), 1)
    // Those that are too many for the page are found by the proxy.
    await page.getByRole('searchbox').fill('tiny__strict')
    await page.getByRole('link', { name: 'tiny__strict' }).waitFor()
    await page.getByRole('searchbox').fill('hostile onerror')
    await page.locator('.body [role=row] >> nth=7').waitFor()
    const names = await page.locator('.body [role=row] a').allInnerTexts()
    for (const name of names) t.match(name, /^[\w-]{1,64}$/, 'a name is plain')
  })

  await t.test('a page of another port of this machine can neither read nor act', async t => {
    const html = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<p>other'),
    )
    const stranger = await context.newPage()
    await stranger.goto(await listenFor(t, html))
    const pid = serverOf(proxy, 'tiny')?.pids[0]
    // It is of the same site, so that the browser sends the cookie along.
    const tried = await stranger.evaluate(`Promise.all([
      ['ui/'], ['api/v1/status'], ['api/v1/status', { headers: { 'x-mcp-proxy': '1' } }],
      ['api/v1/events'], ['api/v1/config', { headers: { 'x-mcp-proxy': '1' } }],
      ['api/v1/servers/tiny/restart', { method: 'POST', mode: 'no-cors', body: '{}' }],
      ['api/v1/servers/tiny/restart', { method: 'POST', headers: { 'x-mcp-proxy': '1' }, body: '{}' }],
      ['api/v1/login', { method: 'POST', body: '{}' }],
    ].map(([path, options]) => fetch('${new URL('/', url).href}' + path, { credentials: 'include', ...options })
      .then(response => response.text(), () => '')))`)
    t.same(tried, Array(8).fill(''), 'it reads nothing')
    t.equal(serverOf(proxy, 'tiny')?.pids[0], pid, 'and nothing was restarted')
    await stranger.evaluate(`document.body.append(Object.assign(document.createElement('iframe'),
      { src: '${new URL('/ui/', url).href}' }))`)
    await stranger.locator('iframe').waitFor()
    await until(() => stranger.frames().length === 2, 'the frame')
    t.notMatch(stranger.frames()[1]?.url() ?? '', /\/ui\//, 'nor can it frame the page')
    await stranger.close()
  })

  await t.test('a lost connection is said, and found again', async t => {
    await context.route('**/api/v1/events*', route => route.abort())
    await open(page, 'clients')
    await see(page, 'Connection lost')
    await context.unroute('**/api/v1/events*')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.locator('.banner').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /raw/ }).waitFor()
    t.pass('it is live')
    // The browser says itself that a request failed.
    for (const [n, words] of [...complaints.entries()].reverse())
      if (words.includes('net::ERR_FAILED')) complaints.splice(n, 1)
  })

  await t.test('no view has anything that axe-core objects to, or that scrolls sideways', async t => {
    const axe = await createAxe(page)
    const looks = [
      { colorScheme: 'light', width: 1280 },
      { colorScheme: 'light', width: 320 },
      { colorScheme: 'dark', width: 1280 },
      { colorScheme: 'dark', width: 320 },
    ] as const
    for (const { colorScheme, width } of looks) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 800 })
      for (const [view, shows] of VIEWS) {
        await open(page, view)
        await page.locator(`main ${shows}`).first().waitFor()
        t.same(await axe(), [], `${view}, ${colorScheme}, ${width}`)
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        t.ok(Number(over) <= 0, `${view} is ${over} too wide`)
        t.same(await page.evaluate(CUT_CELLS), [], `no cell of ${view} is beyond its table, ${width}`)
        t.equal(await hasMarkup(page), false, `${view} has nobody else's markup`)
      }
    }
  })

  t.same(complaints, [], 'nothing that its policy forbids was tried')
  t.same([...origins], [new URL(url).origin], 'nobody else was asked')
})

import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { lacksBrowser, openBrowser, watchPage } from '../support/browser.js'
import { until } from '../support/processes.js'
import { startProxy } from '../support/proxy/start.js'
import { startAtFreePort } from '../support/server/started-server.js'

// The example servers of ext-apps in the frames of a host that is built with its `AppBridge`.

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const HOST = fileOf('../fixtures/app-host.mjs')
const mainOf = (name: string): string =>
  fileOf(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)
const example = (name: string) => ({ command: process.execPath, args: [mainOf(name), '--stdio'] })

/** Serves the page of a host, which reaches an MCP server by `/mcp` of its own origin. */
const startHost = async (t: Test, server: string): Promise<string> => {
  const { outputFiles } = buildSync({ entryPoints: [HOST], bundle: true, platform: 'browser', write: false })
  const script = outputFiles[0]?.text
  const http = createServer((incoming, outgoing) => {
    if (incoming.url !== '/mcp') {
      const [type, body] =
        incoming.url === '/'
          ? ['text/html', '<!doctype html><script src="host.js"></script>']
          : ['text/javascript', script]
      outgoing.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body)
      return
    }
    const { host: _host, origin: _origin, ...headers } = incoming.headers
    const sent = request(server, { method: incoming.method, headers }, response => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    sent.on('error', () => outgoing.destroy())
    outgoing.on('close', () => sent.destroy())
    incoming.pipe(sent)
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    http.closeAllConnections()
    http.close()
  })
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`
}

/** Opens the interface of a tool in a page of its own, which is a session of its own. */
const showApp = async (page: Page, tool: string, { pin = '', looksUp = false } = {}) => {
  const call = `host.connect(${pin === '' ? 'undefined' : `'${pin}'`}).then(() => host.open('${tool}', 'app', { looksUp: ${looksUp} }))`
  await page.evaluate(call)
  return page.frameLocator('iframe[title=app]')
}

/** Presses the button of a clock until it shows another time than before. */
const pressClock = async (t: Test, page: Page, tool: string, how = {}): Promise<void> => {
  const app = await showApp(page, tool, how)
  const time = app.locator('code')
  const shown = async (): Promise<string> => (await time.textContent()) ?? ''
  await until(async () => /^\d{4}-/.test(await shown()), 'the time in the result of the call')
  const before = await shown()
  await app.getByRole('button', { name: 'Get Server Time' }).click()
  await until(async () => (await shown()) !== before, 'another time')
  t.match(await shown(), /^\d{4}-\d\d-\d\dT/, tool)
}

t.test(
  'apps work in a host as they do without the proxy',
  { skip: lacksBrowser, timeout: 300_000 },
  async t => {
    const newContext = await openBrowser(t)
    const watched: (readonly string[])[] = []
    const open = async (t: Test, url: string): Promise<Page> => {
      const page = await (await newContext()).newPage()
      t.teardown(() => page.close())
      watched.push(watchPage(page).complaints)
      await page.goto(url)
      return page
    }

    await t.test('the clock, directly', async t => {
      const port = await startAtFreePort(t, mainOf('basic-vanillajs'))
      await pressClock(t, await open(t, await startHost(t, `http://127.0.0.1:${port}/mcp`)), 'get-time')
    })

    await t.test('clocks of two servers, in sessions of their own', async t => {
      const proxy = startProxy(t, { vanilla: example('basic-vanillajs'), react: example('basic-react') })
      const host = await startHost(t, (await proxy.listen({ port: 0 })).url)
      for (const tool of ['vanilla__get-time', 'react__get-time'])
        await pressClock(t, await open(t, host), tool)
    })

    for (const pin of ['', '2026-07-28'])
      await t.test(`one clock and a monitor, in a host of ${pin || 'the handshake'}`, async t => {
        const proxy = startProxy(t, {
          vanilla: example('basic-vanillajs'),
          monitor: example('system-monitor'),
        })
        const host = await startHost(t, (await proxy.listen({ port: 0 })).url)
        await pressClock(t, await open(t, host), 'vanilla__get-time', { pin })
        const monitor = await open(t, host)
        const app = await showApp(monitor, 'monitor__get-system-info', { pin, looksUp: true })
        const percent = app.locator('#memory-percent')
        const isShown = async (): Promise<boolean> => /^\d+%$/.test((await percent.textContent()) ?? '')
        await until(isShown, 'the tool that only apps call')
      })
    t.same(watched.flat(), [], 'the hosts and the apps complained of nothing')
  },
)

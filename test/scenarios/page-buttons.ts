import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createAxe, lacksBrowser, openBrowser } from '../support/browser.js'
import { until } from '../support/processes.js'
import { runHere, setEnv, startBin, tiny } from '../support/proxy/start.js'
import { LoginServer } from '../support/server/login-server.js'

const open = (page: Page, view: string) => page.evaluate(`location.hash = ${JSON.stringify(`#/${view}`)}`)

t.test('every button of the page does what it says', { skip: lacksBrowser, timeout: 300_000 }, async t => {
  const guarded = await LoginServer.start(t)
  const home = t.testdir()
  setEnv(t, { HOME: home, XDG_CONFIG_HOME: '', NO_COLOR: '1' })
  const file = join(home, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { shop: tiny(), guarded: { url: guarded.mcpUrl } } }))
  const proxy = startBin(t, ['serve', '--port', '0', '--config', file])
  const json = async (...words: string[]) => JSON.parse((await runHere(t, ...words, '--config', file)).out)
  await until(async () => (await runHere(t, 'status', '--config', file)).code === 0, 'the proxy')
  // A first call starts the servers; the one that requires a login refuses.
  t.match(await runHere(t, 'call', 'shop__echo', 'n=1', '--config', file), { code: 0 })
  const pidOf = async (): Promise<number | undefined> => {
    const { servers } = await json('status', '--json')
    return servers.find(({ name }: { readonly name: string }) => name === 'shop')?.pids[0]
  }
  const { url } = await json('ui', '--print', '--json')
  t.equal((await fetch(url)).status, 200, 'the suggested address answers')
  const page = await (await (await openBrowser(t))()).newPage()
  await page.goto(url)
  await page.locator('main h2').waitFor()
  const axe = await createAxe(page)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()

  await t.test('Restart', async () => {
    const before = await pidOf()
    await open(page, 'servers/shop')
    await press(/^Restart$/)
    await page.getByRole('dialog', { name: 'Restart' }).getByRole('button', { name: 'Restart' }).click()
    await until(async () => ![undefined, before].includes(await pidOf()), 'another process')
  })

  await t.test('Disable and Enable', async t => {
    await press(/^Disable$/)
    const dialog = page.getByRole('dialog', { name: 'Disable' })
    if ((await dialog.count()) > 0) await dialog.getByRole('button', { name: 'Disable' }).click()
    const enable = page.getByRole('button', { name: /^Enable$/ })
    await enable.waitFor()
    t.not((await runHere(t, 'call', 'shop__echo', 'n=1', '--config', file)).code, 0, 'it is off')
    await enable.click()
    await page.getByRole('button', { name: /^Disable$/ }).waitFor()
    await until(
      async () => (await runHere(t, 'call', 'shop__echo', 'n=1', '--config', file)).code === 0,
      'the server',
    )
  })

  await t.test('the switch of a tool, by keyboard on a narrow screen', async t => {
    await page.setViewportSize({ width: 390, height: 800 })
    const toggle = page.getByRole('switch', { name: 'echo' })
    const denied = () => JSON.parse(readFileSync(file, 'utf8')).mcpServers.shop.tools?.deny ?? []
    const code = async () => (await runHere(t, 'call', 'shop__echo', 'n=1', '--config', file)).code
    for (const deny of [['echo'], []]) {
      const isOn = deny.length === 0
      await toggle.focus()
      await page.keyboard.press('Space')
      await until(() => denied().join() === deny.join(), 'the file')
      await until(async () => ((await code()) === 0) === isOn, 'the clients')
      await until(async () => (await toggle.isChecked()) === isOn, 'the switch')
      t.same(await axe(), [], 'accessible')
    }
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is cut off')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  await t.test('Call', async () => {
    await open(page, 'tools/shop__facts')
    const form = page.getByRole('form', { name: 'Try shop__facts' })
    await form.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('button', { name: 'Call it' }).click()
    await page.getByText('"argv"').first().waitFor()
  })

  await t.test('Sign in, in this browser', async t => {
    await open(page, 'servers/guarded')
    const popup = page.waitForEvent('popup')
    await press(/^Sign in at guarded$/)
    const link = page.getByRole('link', { name: 'Open the sign-in page' })
    await link.waitFor()
    const tab = await popup
    const address = (await link.getAttribute('href')) ?? ''
    t.match(address, /\/oauth\/connect\/[\w-]+\?ticket=/)
    // The page names the authorization server; a click leads there, and it sends the browser back.
    const onward = tab.getByRole('button', { name: 'Continue' })
    await onward.waitFor()
    const stranger = await fetch(address.replace(/\?.*/, ''))
    t.equal(stranger.status, 404, 'without the ticket, another browser gets nothing')
    await onward.click()
    await tab.getByText('You are signed in to guarded').first().waitFor()
    await page.getByText('No problems found.').waitFor()
    t.equal((await json('status', '--json')).servers[1].why, undefined)
  })

  await t.test('Pause', async () => {
    await open(page, 'calls')
    await press(/^Pause$/)
    await press(/^Go on$/)
  })
  proxy.child.kill('SIGTERM')
  await proxy.exited
})

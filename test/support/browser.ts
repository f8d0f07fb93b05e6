import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults } from 'axe-core'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const CHROMIUM = '/usr/bin/chromium'
/** Ample even for a busy machine. */
const PATIENCE_MS = 120_000

/** Reason to skip browser tests; false if there is a browser. */
export const lacksBrowser = existsSync(CHROMIUM) ? (false as const) : `there is no ${CHROMIUM}`

const ARGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
]

/** Opens a browser with a fresh profile; closed with the test. */
export const openBrowser = async (t: Test): Promise<() => Promise<BrowserContext>> => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: PATIENCE_MS })
  t.teardown(() => browser.close())
  return async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    return context
  }
}

/** Records a page's errors, such as policy violations, and its requests. */
export const watchPage = (page: Page) => {
  const [complaints, origins] = [[] as string[], new Set<string>()]
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('request', request => origins.add(new URL(request.url()).origin))
  return { complaints, origins }
}

/** Presses Tab until the focus is where it should be. */
export const tabTo = async (page: Page, selector: string): Promise<void> => {
  for (let n = 0; n < 60; n += 1) {
    await page.keyboard.press('Tab')
    if ((await page.evaluate(`document.activeElement.matches('${selector}')`)) === true) return
  }
  throw new Error(`Tab does not lead to ${selector}`)
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Runs axe-core on a page and returns its findings with the elements. */
export const createAxe = async (page: Page): Promise<() => Promise<readonly string[]>> => {
  // Evaluated rather than added: the page's policy forbids additional scripts.
  await page.evaluate(await readFile(AXE, 'utf8'))
  return async () => {
    const { violations } = await page.evaluate<AxeResults>('axe.run({ resultTypes: ["violations"] })')
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }
}

/** Records the coverage of a page script from the package, if coverage is collected. */
export const coverPage = async (t: Test, page: Page, script: string): Promise<void> => {
  const folder = process.env['NODE_V8_COVERAGE']
  if (folder === undefined || folder === '') return
  await page.coverage.startJSCoverage({ resetOnNavigation: false })
  t.teardown(async () => {
    const entries = await page.coverage.stopJSCoverage()
    const result = entries
      .filter(({ url }) => url.endsWith(script.replace(/^dist/, '')))
      .map(({ scriptId, functions }) => ({ scriptId, functions, url: pathToFileURL(script).href }))
    await writeFile(join(folder, `coverage-page-${process.pid}.json`), JSON.stringify({ result }))
  })
}

import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults } from 'axe-core'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const CHROMIUM = '/usr/bin/chromium'
/** Long enough for a machine that does ten other things. */
const PATIENCE_MS = 120_000

/** Why tests with a browser are skipped here; false where there is one. */
export const lacksBrowser = existsSync(CHROMIUM) ? (false as const) : `there is no ${CHROMIUM}`

const ARGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
]

/** A browser with a profile of its own, which knows nobody; closed with the test. */
export const openBrowser = async (t: Test): Promise<() => Promise<BrowserContext>> => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: PATIENCE_MS })
  t.teardown(() => browser.close())
  return async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    return context
  }
}

/** What a page complained about, such as what its policy forbids, and whom it asked. */
export const watchPage = (page: Page) => {
  const [complaints, origins] = [[] as string[], new Set<string>()]
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('request', request => origins.add(new URL(request.url()).origin))
  return { complaints, origins }
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Has axe-core look at a page; returns what it objects to, with the elements. */
export const createAxe = async (page: Page): Promise<() => Promise<readonly string[]>> => {
  // Evaluated, not added: the policy of the page lets nobody add a script.
  await page.evaluate(await readFile(AXE, 'utf8'))
  return async () => {
    const { violations } = await page.evaluate<AxeResults>('axe.run({ resultTypes: ["violations"] })')
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }
}

/** Counts what ran of a script of the page, a file of the package, where coverage is collected. */
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

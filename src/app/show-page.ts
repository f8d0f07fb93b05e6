import { browserOf, openPage } from '../transport/process/open-page.js'

/** Opens a page in a browser, if there is one. */
export const showPage = async (url: URL, isTerminal: boolean): Promise<void> => {
  const browser = browserOf(process.env, isTerminal)
  if (browser !== undefined) await openPage(browser, url)
}

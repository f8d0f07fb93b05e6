import { browserOf, openPage } from '../transport/process/open-page.js'

/** Opens a page in the browser of whoever sits before the terminal; false where there is none. */
export const showPage = async (url: URL, isTerminal: boolean): Promise<boolean> => {
  const browser = browserOf(process.env, isTerminal)
  return browser !== undefined && (await openPage(browser, url))
}

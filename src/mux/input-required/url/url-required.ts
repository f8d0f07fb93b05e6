import {
  at,
  elementsOf,
  type JsonText,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textMember,
  textOf,
} from '../../../kernel/json/text.js'

/** Only 2025-11-25 has it (schema, `URL_ELICITATION_REQUIRED`). */
const URL_ELICITATION_REQUIRED = '-32042'
const NONE = rawText('[]')

/** A page that a server wants its user to visit before it goes on. */
export interface UrlElicitation {
  /** By which the server says that the visit is complete. */
  readonly id: string | undefined
  readonly message: string
  readonly url: string
  /** Of the question that it is in revisions that ask for it. */
  readonly params: JsonText
}

/** The pages that an error asks for (2025-11-25, client/elicitation, "URL Elicitation Required Error"); none in any other error. */
export const urlElicitationsOf = (error: JsonText): UrlElicitation[] => {
  if (memberOf(error, 'code')?.toString('latin1') !== URL_ELICITATION_REQUIRED) return []
  const pages: UrlElicitation[] = []
  for (const one of elementsOf(at(error, 'data', 'elicitations') ?? NONE)) {
    const page = pageOf(one)
    if (page !== undefined) pages.push(page)
    if (pages.length === PAGES_MAX) break
  }
  return pages
}

/** Nobody visits more. */
const PAGES_MAX = 100

const pageOf = (one: JsonText): UrlElicitation | undefined => {
  const [text, url] = [memberOf(one, 'message'), memberOf(one, 'url')]
  const address = stringOf(url)
  if (url === undefined || address === undefined) return undefined
  const message = stringOf(text)
  const params = objectText([
    ['mode', textOf('url')],
    ['message', text === undefined || message === undefined ? textOf('') : text],
    ['url', url],
  ])
  return { id: textMember(one, 'elicitationId'), message: message ?? '', url: address, params }
}

/** The same for people, and for models that called a tool: what is wanted, and where. */
export const urlWords = (
  server: string,
  error: JsonText,
  elicitations: readonly UrlElicitation[],
): string => {
  const message = textMember(error, 'message') ?? 'a page must be visited first'
  return [
    `Server ${server}: ${message}`,
    ...elicitations.map(({ message: what, url }) => (what === '' ? url : `${what}: ${url}`)),
  ].join('\n')
}

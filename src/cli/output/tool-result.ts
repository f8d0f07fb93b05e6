import { elementsOf, type JsonText, memberOf, stringOf } from '../../kernel/json/text.js'
import { plainText } from '../../kernel/plain-text.js'
import { oneLine, print, say } from './output.js'

/** Whether a tool said that it failed. */
export const isError = (result: JsonText): boolean =>
  memberOf(result, 'isError')?.toString('latin1') === 'true'

/**
 * Shows the result of a tool: its texts on stdout, or its structure if it has none; what is no text as a line of
 * description on stderr.
 */
export const showResult = (result: JsonText): void => {
  const content = memberOf(result, 'content')
  const blocks = content === undefined ? [] : elementsOf(content)
  let texts = 0
  for (const block of blocks) {
    const text = stringOf(memberOf(block, 'type')) === 'text' ? stringOf(memberOf(block, 'text')) : undefined
    if (text === undefined) {
      say(`[${oneLine(description(block))}]`)
      continue
    }
    texts += 1
    // A file gets the bytes as they are; a terminal must not be steered by a server.
    print((process.stdout.isTTY ? plainText(text) : text).replace(/\n$/, ''))
  }
  const structure = memberOf(result, 'structuredContent')
  if (texts === 0 && structure !== undefined) print(structure)
}

const description = (block: JsonText): string => {
  const type = stringOf(memberOf(block, 'type')) ?? 'something without a type'
  const inner = memberOf(block, 'resource') ?? block
  const facts = ['name', 'uri', 'mimeType'].flatMap(key => stringOf(memberOf(inner, key)) ?? [])
  const data = memberOf(inner, 'data') ?? memberOf(inner, 'blob')
  if (data !== undefined) facts.push(`${Math.floor(((data.length - 2) * 3) / 4)} bytes`)
  return `${[type, ...facts].join(' ')}; --json shows it whole`
}

/** A progress notification as one line. */
export const progressLine = (params: JsonText): string => {
  const [progress, total] = ['progress', 'total'].map(key => memberOf(params, key)?.toString('utf8'))
  const message = stringOf(memberOf(params, 'message')) ?? ''
  return oneLine(`[${progress ?? '?'}${total === undefined ? '' : `/${total}`}] ${message}`)
}

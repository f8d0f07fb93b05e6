/** An event of a stream. */
export interface StreamEvent {
  readonly event: string
  /** JSON text. */
  readonly data: string
  readonly id: string | undefined
}

/**
 * Parses an event stream (HTML, "Server-sent events") in the subset that the proxy writes: lines end in `\n`,
 * and an empty line ends each event. Returns a function that takes chunks of text.
 */
export const createReader = (onEvent: (told: StreamEvent) => void): ((text: string) => void) => {
  let rest = ''
  return text => {
    // The searched text may end in the first half of a separator.
    let from = Math.max(0, rest.length - 1)
    rest += text
    let begin = 0
    for (let end = rest.indexOf('\n\n', from); end >= 0; end = rest.indexOf('\n\n', from)) {
      const told = readEvent(rest.slice(begin, end))
      begin = from = end + 2
      if (told !== undefined) onEvent(told)
    }
    rest = rest.slice(begin)
  }
}

const readEvent = (block: string): StreamEvent | undefined => {
  const lines = block.split('\n')
  const valuesOf = (name: string): readonly string[] =>
    lines.filter(line => line.startsWith(`${name}: `)).map(line => line.slice(name.length + 2))
  const data = valuesOf('data')
  if (data.length === 0) return undefined
  return { event: valuesOf('event')[0] ?? '', data: data.join('\n'), id: valuesOf('id')[0] }
}

import { visit } from 'jsonc-parser'

/** Parses JSON like strict peers: an object must not repeat a member (RFC 8259 §4). Throws a SyntaxError. */
export const parseStrict = (text: string): unknown => {
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: name => {
      const members = open.at(-1)
      if (members?.has(name) === true) throw new SyntaxError(`The member ${name} is repeated: ${text}`)
      members?.add(name)
    },
  })
  return JSON.parse(text)
}

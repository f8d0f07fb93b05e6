import { plainLine } from '../secrets/plain-text.js'

/** Lines that say where a program failed and not why: frames of a stack, carets, the version of Node. */
const FILLER = /^\s*(?:at .*|\^[\s^~]*|Node\.js v[\d.]+\S*|\(Use `node .*` to show where .*\))\s*$/

/**
 * The last lines of a program's stderr that help to find out why it ended, oldest first and fit for a terminal.
 * Frames of stacks and blank lines are left out, unless there is nothing else.
 */
export const tellingLines = (lines: readonly string[], max: number): readonly string[] => {
  const plain = lines.map(line => plainLine(line).trim()).filter(line => line !== '')
  const telling = plain.filter(line => !FILLER.test(line))
  return (telling.length > 0 ? telling : plain).slice(-max)
}

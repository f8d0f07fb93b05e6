import t from 'tap'
import { escapeForeign, hiddenCodePoints, showHidden } from '../../src/kernel/hidden-text.js'

t.test('hidden characters of every kind are shown, and visible ones stay', async t => {
  const rows: readonly (readonly [what: string, text: string, shown: string, points: readonly string[]])[] = [
    ['letters of any script', 'Grüße, 你好, 🙂', 'Grüße, 你好, 🙂', []],
    ['a zero-width space', 'a\u200bb', 'a\\u200bb', ['U+200B']],
    ['a change of direction', '\u202egpj', '\\u202egpj', ['U+202E']],
    ['a tag outside the basic plane', '\u{e0041}', '\\udb40\\udc41', ['U+E0041']],
    ['a space that does not break', 'a\u00a0b', 'a\\u00a0b', ['U+00A0']],
    ['half of a pair', 'a\ud800', 'a\\ud800', ['U+D800']],
    ['a private character', '\ue000', '\\ue000', ['U+E000']],
    ['a line separator, twice', '\u2028\u2028', '\\u2028\\u2028', ['U+2028']],
    ['line feeds and tabs', 'a\n\tb', 'a\n\\u0009b', []],
  ]
  for (const [what, text, shown, points] of rows) {
    t.equal(showHidden(text), shown, what)
    t.same(hiddenCodePoints(text), points, what)
  }
  t.equal(escapeForeign('`<b>`\n'), '\\u0060\\u003cb\\u003e\\u0060\\u000a')
})

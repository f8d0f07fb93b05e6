import t from 'tap'
import { type JsonText, readJson } from '../../src/kernel/json-text.js'
import { shownJson, textBlock, withReadableContent } from '../../src/model/content.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

t.test('a text block holds any text', async t => {
  t.equal(textBlock('a"\n').toString(), '{"type":"text","text":"a\\"\\n"}')
})

t.test('a long value is cut at 64 KiB between two characters', async t => {
  for (const pad of ['', 'a', 'aa', 'aaa']) {
    const shown = shownJson(json(`"${pad}${'😀'.repeat(20_000)}"`))
    t.ok(Buffer.byteLength(shown) <= 64 * 1024)
    t.ok(Buffer.byteLength(shown) > 64 * 1024 - 8)
    t.match(shown, /😀…$/u)
    t.notMatch(shown, /\ufffd/)
  }
  const fits = `"${'a'.repeat(64 * 1024 - 2)}"`
  t.equal(shownJson(json(fits)), fits)
})

t.test('structured output is readable as text, with its numbers as they were', async t => {
  const cases: [string, string][] = [
    [
      '{"structuredContent":{"a":1.0}}',
      '{"structuredContent":{"a":1.0},"content":[{"type":"text","text":"{\\"a\\":1.0}"}]}',
    ],
    [
      '{"content":[],"structuredContent":12345678901234567890}',
      '{"content":[{"type":"text","text":"12345678901234567890"}],"structuredContent":12345678901234567890}',
    ],
    [
      '{"content":null,"structuredContent":[1]}',
      '{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}',
    ],
    ['{}', '{"content":[]}'],
    ['{"content":"x"}', '{"content":[]}'],
  ]
  for (const [before, after] of cases) t.equal(withReadableContent(json(before)).toString(), after)
})

t.test('a result that has content keeps it by reference', async t => {
  for (const text of ['{"content":[]}', '{"content":[1],"structuredContent":{"a":1}}']) {
    const result = json(text)
    t.equal(withReadableContent(result), result)
  }
})

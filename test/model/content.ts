import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { rewriteUris } from '../../src/catalog/names/rewrite.js'
import { repairResult } from '../../src/catalog/repair/results.js'
import { knowsStructure, projectLegacyResult } from '../../src/eras/legacy/project/messages.js'
import { projectModernResult as projectModern } from '../../src/eras/modern/project/messages.js'
import { type JsonText, memberOf, readJson } from '../../src/kernel/json/text.js'
import { plainOf, shownJson, textBlock, withReadableContent } from '../../src/model/content.js'
import { LEGACY_REVISIONS } from '../../src/model/revision.js'

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

const PLAIN = [
  '{"content":[]}',
  '{"content":[{"type":"text","text":"a\\\\"},{"type":"text","text":"\\"}]}\\\\\\"é"}],"isError":true}',
  `{"content":[{"type":"text","text":"${'x'.repeat(2000)}"}]}`,
  '{"content":[{"type":"text","text":"a"}]}',
  '{ "isError" : true , "content" : [ { "text" : "a \\" ] } uri \\u0075ri" , "type" : "text" } , {"type":"text","text":""} ] }',
  '{"\\u0063ontent":[{"type":"text","text":"\\"structuredContent\\":1"}],"isError":false}',
]

const STRUCTURED = [
  '{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":[{"uri":"b://c"}],"content":1}}',
  '{"content":[{"type":"text","text":"a"}],"structuredContent":{},"isError":true}',
  '{ "isError":false, "structuredContent" : {"_meta":{"a":null}} , "content":[{"text":"","type":"text"}]}',
]

/** Applies every step on the way to a client, except those for older clients. */
const stepsOf = (result: JsonText): readonly JsonText[] => [
  repairResult('tools/call', result, false),
  rewriteUris('tools/call', result, () => 'x+y'),
  projectModern('tools/call', result),
]

t.test('a plain result is recognized, and stays unchanged byte for byte', async t => {
  for (const text of [...PLAIN, ...STRUCTURED]) {
    const result = json(text)
    const isStructured = STRUCTURED.includes(text)
    t.same(plainOf(result), { isError: text.includes('true'), isStructured }, text)
    for (const made of stepsOf(result)) t.equal(made, result)
    for (const revision of LEGACY_REVISIONS) {
      const projected = projectLegacyResult(revision, 'tools/call', result)
      const isLess = isStructured && revision < '2025-06-18'
      t.equal(projected === result, !isLess, 'only clients that lack structured output get less')
      if (isLess) t.equal(memberOf(projected, 'structuredContent'), undefined, revision)
    }
  }
})

const MEMBERS = [
  '"content":[{"type":"text","text":"a"}]',
  '"content":[{"type":"text","text":"\\"},\\"structuredContent\\":{"},{"type":"text","text":"é"}]',
  '"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"a://b","name":"c"}]',
  '"content":[]',
  '"structuredContent":{}',
  '"structuredContent":{"a":{"b":"},"},"isError":true}',
  '"structuredContent":[{}]',
  '"isError":true',
  '"isError":false',
  '"isError":null',
  '"_meta":{"ui":{"resourceUri":"a://b"}}',
  '"resultType":"complete"',
]

t.test('a plain result stays unchanged in every position', async () => {
  const members = fc.array(fc.constantFrom(...MEMBERS), { maxLength: 4 })
  fc.assert(
    fc.property(members, fc.constantFrom(',', ' , '), (some, comma) => {
      const result = json(`{${some.join(comma)}}`)
      const plain = plainOf(result)
      if (plain === undefined) return
      assert.equal(plain.isStructured, memberOf(result, 'structuredContent') !== undefined)
      const seen = { isError: false }
      repairResult('tools/call', result, false, seen)
      assert.equal(plain.isError, seen.isError)
      for (const made of stepsOf(result)) assert.equal(made, result)
      for (const revision of LEGACY_REVISIONS) {
        const isKnown: boolean = !plain.isStructured || knowsStructure(revision)
        assert.equal(projectLegacyResult(revision, 'tools/call', result) === result, isKnown)
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('every other result is checked', async t => {
  const others = [
    '{}',
    '[]',
    '{"content":{}}',
    '{"content":[{"type":"text","text":"a"}],"content":[]}',
    '{"content":[{"type":"text"}]}',
    '{"content":[{"text":"a"}]}',
    '{"content":[{"type":"text","text":1}]}',
    '{"content":[{"type":"text","type":"text","text":"a"}]}',
    '{"content":[{"type":"text","text":"a","text":"b"}]}',
    '{"content":[{"type":"text","text":"a","_meta":{}}]}',
    '{"content":[{"type":"image","data":"","mimeType":"a/b"}]}',
    '{"content":["a"]}',
    '{"content":[null]}',
    '{"content":[[]]}',
    '{"content":[],"isError":null}',
    '{"content":[],"_meta":{}}',
    '{"content":[],"structuredContent":{}}',
    '{"structuredContent":{}}',
    '{"content":[{"type":"text","text":"a"}],"structuredContent":null}',
    '{"content":[{"type":"text","text":"a"}],"structuredContent":[]}',
    '{"content":[{"type":"text","text":"a"}],"structuredContent":{},"structuredContent":{}}',
    '{"content":[{"type":"text","text":"a"}],"structuredContent":{},"_meta":{}}',
    '{"content":[],"task":{}}',
    '{"content":[],"resultType":"complete"}',
  ]
  for (const text of others) t.equal(plainOf(json(text)), undefined, text)
})

import t from 'tap'
import { lacksCapability } from '../../../../src/eras/modern/client-side/required-capabilities.js'
import { type JsonText, readJson } from '../../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

t.test('a client lacks what it did not declare, at any depth', async t => {
  const CASES: [string, string, boolean][] = [
    ['{}', '{}', false],
    ['{}', '{"sampling":{}}', true],
    ['{"sampling":{}}', '{"sampling":{}}', false],
    ['{"sampling":{}}', '{"sampling":{"tools":{}}}', true],
    ['{"sampling":{"tools":{}}}', '{"sampling":{"tools":{}}}', false],
    ['{"elicitation":{}}', '{"elicitation":{"form":{}}}', false],
    ['{"elicitation":{}}', '{"elicitation":{}}', false],
    ['{"elicitation":{}}', '{"elicitation":{"url":{}}}', true],
    ['{"elicitation":{"url":{}}}', '{"elicitation":{}}', true],
    ['{"elicitation":{"form":{},"url":{}}}', '{"elicitation":{"url":{}}}', false],
    ['{"extensions":{"a.b/c":{}}}', '{"extensions":{"a.b/c":{}}}', false],
    ['{"extensions":{"a.b/c":{}}}', '{"extensions":{"a.b/d":{}}}', true],
    ['{"roots":{}}', '{"roots":{},"sampling":{}}', true],
    ['{}', '"sampling"', false],
  ]
  for (const [declared, required, lacks] of CASES) {
    t.equal(lacksCapability(json(declared), json(required)), lacks, `${declared} for ${required}`)
  }
})

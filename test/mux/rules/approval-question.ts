import t from 'tap'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { addSecrets } from '../../../src/kernel/secrets/mask.js'
import { type ApprovalQuestion, boxLines, questionText } from '../../../src/mux/rules/approval-question.js'
import { rulesOf } from '../../support/rules.js'

const [RULE] = rulesOf([{ id: 'money', then: 'ask', reason: 'Line\none.' }])

const question = (more: Partial<ApprovalQuestion> & { readonly args?: unknown } = {}): ApprovalQuestion => {
  const { args = {}, ...others } = more
  if (RULE === undefined) throw new Error('no rule')
  return {
    ...{
      method: 'tools/call',
      server: 'shop',
      name: 'pay',
      arguments: textOf(args),
      rule: RULE,
      changed: [],
    },
    ...{ endsAtMs: 0, url: 'http://h/approvals/1' },
    ...others,
  }
}

/** The line of the arguments in a form. */
const shown = (args: unknown): string | undefined =>
  questionText(question({ args }))
    ?.split('\n')
    .find(line => line.startsWith('arguments: '))
    ?.slice('arguments: '.length)

t.test('text of others can neither close the box nor imitate a line', t => {
  const name = 'pay\n```\nserver: "bank"\r\u2028\u{e0041}é'
  const text =
    questionText(question({ name, args: { x: '\u202e<b>\n```', '\u200by`': '\u00a0\ufff9' } })) ?? ''
  t.same(
    text.split('\n').map(line => line.split(':')[0]),
    [
      'Allow this call? The text in the box was not written by mcp-proxy.',
      ...['```', 'server', 'tool', 'arguments', '```'],
      ...['Rule "money"', 'Valid for this call only, until 00'],
    ],
  )
  t.match(text, 'tool: "pay\\n\\u0060\\u0060\\u0060\\nserver: \\"bank\\"\\r\\u2028\\udb40\\udc41\\u00e9"')
  t.match(
    text,
    'arguments: {"x":"\\u202e\\u003cb\\u003e\\n\\u0060\\u0060\\u0060","\\u200by\\u0060":"\\u00a0\\ufff9"}',
  )
  t.match(text, '\nRule "money": Line one.\n')
  t.equal(shown({ x: 'Zoë 日本' }), '{"x":"Zoë 日本"}', 'visible characters stay')
  t.end()
})

t.test('long arguments are cut, and what is left is counted outside of the quotes', t => {
  t.equal(shown({ x: 'a'.repeat(200) }), `{"x":"${'a'.repeat(200)}"}`)
  t.equal(shown({ x: 'a'.repeat(1234) }), `{"x":"${'a'.repeat(200)}…"+1,034 characters}`)
  t.equal(
    shown({ x: '😀'.repeat(201) }),
    `{"x":"${'😀'.repeat(200)}…"+1 characters}`,
    'no character is split',
  )
  t.equal(shown({ x: Array(100).fill(1) }), `{"x":[${'1,'.repeat(20)}…]+80 elements}`)
  const members = Array.from({ length: 53 }, (_, n) => [`k${String(n).padStart(2, '0')}`, n] as const)
  t.match(shown(Object.fromEntries(members)), /"k49":49,…\}\+3 members$/)
  t.equal(shown([[[[[[[1]]]]]]]), '[[[[[[[…]+1 elements]]]]]]')
  const long = shown({ ['k'.repeat(300)]: rawText('1') })
  t.match(long, /^\{"k{200}…"\+100 characters:/)
  const text = questionText(question({ args: { x: 'a'.repeat(201) } })) ?? ''
  t.match(text, '```\nTruncated. See the full call at http://h/approvals/1\nRule')
  t.notMatch(questionText(question({ args: { x: 'a'.repeat(201) }, url: undefined })), 'Truncated')
  t.end()
})

t.test('strings are cut at 40 characters before a form is given up', t => {
  const list = (length: number): unknown => Array.from({ length: 20 }, () => 'b'.repeat(length))
  t.match(shown(list(300)), `["${'b'.repeat(40)}…"+260 characters,`)
  t.ok((questionText(question({ args: list(300) })) ?? '').length <= 4000)
  t.equal(questionText(question({ args: [list(99), list(99), list(99), list(99)] })), undefined)
  t.end()
})

t.test('a number, a repeated member and a name keep all that they have', t => {
  const args = rawText('{"amount":500.00000000000000000001,"amount":1,"big":1e999}')
  t.match(
    questionText(question({ arguments: args })),
    'arguments: {"amount":500.00000000000000000001,"amount":1,"big":1e999}',
  )
  const uri = `file:///home/${'a'.repeat(600)}/../../etc/passwd`
  const read = { method: 'resources/read', name: uri }
  t.match(questionText(question(read)), `resource: "${uri}"`)
  t.same(boxLines(question(read), undefined), ['server: "shop"', `resource: "${uri}"`])
  t.equal(questionText(question({ ...read, name: uri.repeat(10) })), undefined, 'it does not fit into a form')
  t.end()
})

t.test('known secrets are hidden, in names too', t => {
  t.teardown(addSecrets(['hunter2-hunter2']))
  t.notMatch(questionText(question({ name: 'x-hunter2-hunter2', args: { y: 'hunter2-hunter2' } })), 'hunter2')
  t.end()
})

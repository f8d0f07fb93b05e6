import t from 'tap'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import { AnswerHistory, askedUnder } from '../../../../src/mux/input-required/parked/parked-questions.js'

const FORM = 'elicitation/create'
const form = (params: object) => ({ method: FORM, params: textOf(params) })
const ACCEPT = rawText('{"action":"accept"}')
const DECLINE = rawText('{"action":"decline"}')

t.test('an answer is matched to its question, with any metadata in the request', async t => {
  const history = new AnswerHistory()
  history.add(form({ message: 'm', _meta: { progressToken: 1 }, elicitationId: 'e' }), ACCEPT)
  t.equal(history.take(form({ message: 'm' })), undefined, 'this run gave it already')
  const rows: readonly (readonly [object, boolean])[] = [
    [{ message: 'm' }, true],
    [{ mode: 'form', message: 'm', _meta: {}, task: {}, elicitationId: 'other' }, true],
    [{ message: 'n' }, false],
    [{ message: 'm', mode: 'url' }, false],
  ]
  for (const [params, isKnown] of rows) {
    const next = new AnswerHistory(history.entries)
    t.equal(
      next.take(form(params))?.toString(),
      isKnown ? ACCEPT.toString() : undefined,
      JSON.stringify(params),
    )
  }
  t.equal(new AnswerHistory(history.entries).take({ ...form({ message: 'm' }), method: 'x' }), undefined)
})

t.test('a question that was asked twice is answered twice, in the order of the answers', async t => {
  const history = new AnswerHistory()
  history.add(form({ message: 'm' }), ACCEPT)
  history.add(form({ message: 'm' }), DECLINE)
  const next = new AnswerHistory(history.entries)
  t.same(
    [1, 2, 3].map(() => next.take(form({ message: 'm' }))?.toString()),
    [ACCEPT.toString(), DECLINE.toString(), undefined],
  )
  t.same(next.entries, history.entries, 'what was taken is still known to the run after this one')
})

t.test('a notification beyond 8 KiB is not kept; earlier and later ones that fit are', async t => {
  const history = new AnswerHistory()
  const answer = (chars: number) => textOf({ action: 'accept', content: { text: 'x'.repeat(chars) } })
  history.add(form({ message: 'first' }), answer(4000))
  history.add(form({ message: 'second' }), answer(4200))
  history.add(form({ message: 'third' }), ACCEPT)
  const next = new AnswerHistory(history.entries)
  t.ok(next.take(form({ message: 'first' })))
  t.equal(next.take(form({ message: 'second' })), undefined)
  t.ok(next.take(form({ message: 'third' })))
  next.add(form({ message: 'fourth' }), answer(4200))
  t.equal(next.entries.length, 2, 'with what an earlier run kept')
})

t.test('the keys of questions reveal nothing about them', async t => {
  const [asked] = askedUnder([{ key: '1-1', ...form({ message: 'Seat?' }) }])
  t.match(asked, { key: '1-1', method: FORM, question: /^[\w-]{43}$/ })
})

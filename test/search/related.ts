import t from 'tap'
import { expandQuestion } from '../../src/search/related.js'

const relatedOf = (text: string) => expandQuestion(text).words

t.test('a word adds words of the same meaning', t => {
  const related = relatedOf('delete codebase')
  t.ok(related.get('delet')?.has('remov'))
  t.ok(related.get('codebas')?.has('repositori'))
  t.notOk(related.get('delet')?.has('delet'))
  t.end()
})

t.test('a phrase has related words only as a whole', t => {
  t.ok(relatedOf('pull request').get('pull')?.has('pr'))
  t.notOk(relatedOf('pull cord').get('pull')?.has('pr'))
  t.ok(relatedOf('pr').get('pr')?.has('pull'))
  t.ok(relatedOf('pr').get('pr')?.has('request'))
  t.end()
})

t.test('a synonym adds the words of tools, but not the reverse', t => {
  const share = relatedOf('revenue gist').get('gist')?.get('summari') ?? 0
  t.ok(share > 0 && share < 1)
  t.ok(relatedOf('umbrella').get('umbrella')?.has('weather'))
  t.notOk(relatedOf('weather').get('weather')?.has('umbrella'))
  t.end()
})

t.test('stop words change the meaning of a phrase, even with a few words between', t => {
  t.ok(relatedOf('turn off').get('turn')?.has('disabl'))
  t.ok(relatedOf('turn the big light off').get('turn')?.has('disabl'))
  t.notOk(relatedOf('turn around').get('turn')?.has('disabl'))
  t.notOk(relatedOf('turn it in one two three four off').get('turn')?.has('disabl'))
  t.strictSame([...relatedOf('turn it off').keys()], ['turn'])
  t.ok(expandQuestion('put it off').phrases.some(related => related.has('reschedul')))
  t.strictSame(expandQuestion('postpone').phrases, [])
  t.end()
})

t.test('an unknown word is without related words', t => {
  t.strictSame([...relatedOf('xyzzy xyzzy')], [['xyzzi', new Map()]])
  t.end()
})

import t from 'tap'
import { withKin } from '../../../src/catalog/search/kin.js'
import { wordsOf } from '../../../src/catalog/search/words.js'

const kinOf = (text: string) => withKin(wordsOf(text))

t.test('a word brings those that people use in its place', t => {
  const kin = kinOf('delete codebase')
  t.ok(kin.get('delet')?.has('remov'))
  t.ok(kin.get('codebas')?.has('repositori'))
  t.notOk(kin.get('delet')?.has('delet'))
  t.end()
})

t.test('a phrase has kin as a whole only', t => {
  t.ok(kinOf('pull request').get('pull')?.has('pr'))
  t.notOk(kinOf('pull cord').get('pull')?.has('pr'))
  t.ok(kinOf('pr').get('pr')?.has('pull'))
  t.ok(kinOf('pr').get('pr')?.has('request'))
  t.end()
})

t.test('what people say brings the words of tools, but is not brought by them', t => {
  const share = kinOf('revenue gist').get('gist')?.get('summari') ?? 0
  t.ok(share > 0 && share < 1)
  t.ok(kinOf('umbrella').get('umbrella')?.has('weather'))
  t.notOk(kinOf('weather').get('weather')?.has('umbrella'))
  t.end()
})

t.test('an unknown word stands for itself', t => {
  t.strictSame([...kinOf('xyzzy xyzzy')], [['xyzzi', new Map()]])
  t.end()
})

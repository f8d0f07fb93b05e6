import t from 'tap'
import { withKin } from '../../../src/catalog/search/kin.js'

const kinOf = (text: string) => withKin(text).words

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

t.test('words that say nothing alone make phrases others, also with a few words between', t => {
  t.ok(kinOf('turn off').get('turn')?.has('disabl'))
  t.ok(kinOf('turn the big light off').get('turn')?.has('disabl'))
  t.notOk(kinOf('turn around').get('turn')?.has('disabl'))
  t.notOk(kinOf('turn it in one two three four off').get('turn')?.has('disabl'))
  t.strictSame([...kinOf('turn it off').keys()], ['turn'])
  t.ok(withKin('put it off').phrases.some(kin => kin.has('reschedul')))
  t.strictSame(withKin('postpone').phrases, [])
  t.end()
})

t.test('an unknown word stands for itself', t => {
  t.strictSame([...kinOf('xyzzy xyzzy')], [['xyzzi', new Map()]])
  t.end()
})

import t from 'tap'
import { stemOf } from '../../src/search/stem.js'
import { searchWords } from '../../src/search/words.js'

t.test('names are split at capitals, signs and digits', t => {
  t.strictSame(searchWords('getFileContents'), ['get', 'fil', 'content'])
  t.strictSame(searchWords('list_pull-requests2'), ['list', 'pull', 'request', '2'])
  t.strictSame(searchWords('HTTPServer'), ['http', 'server'])
  t.strictSame(searchWords('openPRs'), ['open', 'pr'])
  t.strictSame(searchWords('my to-do list, e-mail'), ['todo', 'list', 'email'])
  t.strictSame(searchWords('convert-to-double'), ['convert', 'doubl'])
  t.strictSame(searchWords('größe to-dos'), ['größ', 'todo'])
  t.end()
})

t.test('a word is found in each of its forms', t => {
  for (const forms of [
    ['create', 'creates', 'created', 'creating', 'creation'],
    ['query', 'queries', 'querying'],
    ['cookie', 'cookies'],
    ['box', 'boxes'],
    ['process', 'processes', 'processing'],
    ['stop', 'stopped', 'stopping'],
    ['add', 'added', 'adding'],
    ['install', 'installs', 'installation'],
    ['remove', 'removed', 'removal'],
    ['deploy', 'deployment'],
    ['similar', 'similarity'],
    ['available', 'availability'],
    ['automatic', 'automatically'],
    ['perform', 'performance'],
    ['organize', 'organise', 'organization', 'organisations', 'org'],
    ['color', 'colour', 'colours'],
    ['repository', 'repo', 'repos'],
    ['documentation', 'document', 'docs'],
  ])
    t.equal(new Set(forms.map(stemOf)).size, 1, forms.join(' '))
  for (const word of ['string', 'status', 'need', 'embed', 'action', 'comment', 'hour', 'element'])
    t.equal(stemOf(word), word)
  t.end()
})

t.test('stop words and sequences that are not words are left out', t => {
  t.strictSame(searchWords('please show me all of the issues in it'), ['show', 'all', 'issu'])
  t.strictSame(searchWords(`a ${'x'.repeat(41)} b`), ['b'])
  t.strictSame(searchWords(''), [])
  t.equal(searchWords('word '.repeat(1000)).length, 400)
  t.end()
})

t.test('words in other scripts and full-width characters count', t => {
  t.strictSame(searchWords('Größe der Dateien'), ['größ', 'der', 'dateien'])
  t.strictSame(searchWords('ＧＩＴ 检索'), ['git', '检索'])
  t.strictSame(searchWords('merge — “branches” 🎉'), ['merg', 'branch'])
  t.end()
})

t.test('the cache of stems is bounded, and stems stay correct', t => {
  for (let i = 0; i < 21_000; i++) stemOf(`word${i}s`)
  t.equal(stemOf('words'), 'word')
  t.end()
})

import t from 'tap'
import { normalUri } from '../../../src/catalog/names/uris.js'
import { UriIndex } from '../../../src/mux/notifications/uri-index.js'

const indexOf = (...uris: readonly string[]) => {
  const index = new UriIndex<{ own: string; normal: string }>()
  for (const own of uris) index.add({ own, normal: normalUri(own) })
  return index
}

t.test('an update finds its subscription: the same, another spelling, or the closest one above', async t => {
  const index = indexOf('http://a/b', 'http://a/b/c', 'http://a/', 'file:///d/', 'x:y')
  for (const [uri, expected] of [
    ['http://a/b', 'http://a/b'],
    ['http://a:80/b', 'http://a/b'],
    ['HTTP://A/b', 'http://a/b'],
    ['http://a/b/d', 'http://a/b'],
    ['http://a/b/c/d', 'http://a/b/c'],
    ['http://a/b/c#d', 'http://a/b/c'],
    ['http://a/b?q', 'http://a/b'],
    ['http://a/bc', 'http://a/'],
    ['file:///d/e', 'file:///d/'],
    ['x:y/z', 'x:y'],
    ['x:yz', undefined],
    ['http://b/b', undefined],
  ] as const)
    t.equal(index.of(uri)?.own, expected, uri)
})

t.test('what is removed is not found any more, in no spelling', async t => {
  const index = indexOf('http://a/b')
  const item = index.get('http://a/b')
  if (item === undefined) return t.fail('not found')
  index.remove(item)
  for (const uri of ['http://a/b', 'http://a:80/b', 'http://a/b/c']) t.equal(index.of(uri), undefined)
  t.equal(index.size, 0)
})

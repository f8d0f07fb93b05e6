import t from 'tap'
import { accepts, isVisibleAscii, mediaTypeOf } from '../../../src/wire/http/headers.js'

t.test('a media type is read without parameters and case', async t => {
  const rows: [string | undefined, string][] = [
    [undefined, ''],
    ['', ''],
    ['application/json', 'application/json'],
    ['Application/JSON; charset=UTF-8', 'application/json'],
    [' text/event-stream ;charset=utf-8', 'text/event-stream'],
    ['text/event-stream;', 'text/event-stream'],
    ['application/json-rpc', 'application/json-rpc'],
    ['application/json, text/html', 'application/json, text/html'],
    [';application/json', ''],
  ]
  for (const [header, type] of rows) t.equal(mediaTypeOf(header), type, String(header))
})

t.test('Accept is read as RFC 9110 says', async t => {
  const json = 'application/json'
  const rows: [string | undefined, boolean][] = [
    [undefined, true],
    ['', true],
    ['  ', true],
    ['application/json', true],
    ['APPLICATION/Json', true],
    ['application/json, text/event-stream', true],
    ['text/event-stream,application/json;q=0.1', true],
    ['text/event-stream', false],
    ['application/*', true],
    ['text/*', false],
    ['*/*', true],
    ['text/html, */*;q=0.1', true],
    ['application/json; charset=utf-8', true],
    ['application/json;q=0', false],
    ['application/json; Q=0.000', false],
    ['application/json;q=0.001', true],
    ['application/json ; charset=utf-8 ; q = 0', false],
    ['*/*, application/json;q=0', false],
    ['application/json;q=0, */*', false],
    ['application/*;q=0, */*', false],
    ['*/*;q=0, application/json', true],
    ['*/*;q=0', false],
    ['application/json;q=nonsense', true],
    ['application/json;q=0, application/json', true],
    ['application/json;q=0.5;q=0', false],
    ['application/jsonp', false],
    ['application/json-patch+json', false],
    ['json', false],
    ['*', false],
    [',,application/json,', true],
    ['text/html;a="x, application/json"', false],
    ['text/html;a="x\\", application/json", text/plain', false],
    ['application/json;a=";q=0;"', true],
    ['application/json;a="never closed;q=0', true],
    ['application/json;a="\\', true],
  ]
  for (const [header, expected] of rows) t.equal(accepts(header, json), expected, String(header))
  t.ok(accepts('text/*', 'text/event-stream'))
  t.notOk(accepts('application/*', 'text/event-stream'))
})

t.test('a hostile header is read in linear time', async t => {
  for (const part of ['"\\', ';q', ',', ' ', '\\"', ';q=0.0']) {
    t.notOk(accepts(`text/html${part.repeat(500_000)}`, 'application/json'), JSON.stringify(part))
  }
})

t.test('a session id is visible ASCII', async t => {
  for (const text of ['!', '~', 'a', '3f2b-_.:/=', '"', ',;']) t.ok(isVisibleAscii(text), text)
  for (const text of ['', ' ', 'a b', 'a\n', '\na', 'a\t', 'a\x7f', 'é', '😀', 'a\0', 'a ', '\x1f']) {
    t.notOk(isVisibleAscii(text), JSON.stringify(text))
  }
})

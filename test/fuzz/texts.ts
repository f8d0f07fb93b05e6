import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { cursorKey, decodeCursor, encodeCursor } from '../../src/catalog/lists/cursor.js'
import { aliasOf, exposedName } from '../../src/catalog/names/names.js'
import { exposedUri, matchTemplate, schemeAliases, splitUri } from '../../src/catalog/names/uris.js'
import { oneLineText } from '../../src/cli/shared/output/output.js'
import {
  checkHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  mirrorHeaders,
} from '../../src/eras/modern/mirror-headers.js'
import { at, rawText, readJson, stringOf, textOf } from '../../src/kernel/json/text.js'
import { socketPathOf } from '../../src/kernel/machine/socket-path.js'
import { mask, maskAddress } from '../../src/kernel/secrets/mask.js'
import { plainText } from '../../src/kernel/secrets/plain-text.js'
import { createSealer, type SealedState } from '../../src/mux/input-required/retry/sealed-state.js'
import { hostAllowed, originAllowed, resolveHosts, resolveOrigins } from '../../src/transport/http/guards.js'
import { accepts, mediaTypeOf } from '../../src/wire/http/headers.js'
import { holds, soon } from '../support/property.js'

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({
    unit: fc.constantFrom('_', '-', '+', ':', '/', '.', 'a', 'B', '\0', '\n', '"', '\ud800'),
    maxLength: 80,
  }),
)
const odd = fc.constantFrom(
  '__proto__',
  'constructor',
  'a__b',
  'a',
  '',
  'ui://x',
  'file:///a',
  'a'.repeat(300),
)
const names = fc.oneof({ weight: 4, arbitrary: anyText }, { weight: 1, arbitrary: odd })

// ── names and URIs ──

void holds(
  t,
  'an exposed name is short and plain, and is the same each time',
  fc.property(names, names, (key, name) => {
    const alias = aliasOf(key, undefined)
    assert.match(alias, /^[A-Za-z](?:[A-Za-z0-9_-]{0,22}[A-Za-z0-9-])?$/)
    assert.ok(!alias.includes('__'))
    const exposed = exposedName(alias, name)
    assert.match(exposed, /^[A-Za-z0-9_-]{1,46}$/)
    assert.equal(exposedName(aliasOf(key, undefined), name), exposed)
  }),
)

void holds(
  t,
  'two names of a server are never exposed under one',
  fc.property(names, names, (one, other) => {
    fc.pre(one !== other)
    assert.notEqual(exposedName('gh', one), exposedName('gh', other))
  }),
)

void holds(
  t,
  'a URI comes back to its server as it was, and is nobody else’s',
  fc.property(names, names, anyText, (one, other, uri) => {
    const aliases = [aliasOf(one, undefined), aliasOf(other, undefined)]
    const find = schemeAliases(aliases)
    const [alias = ''] = aliases
    assert.deepEqual(splitUri(exposedUri(alias, uri), find), { alias, uri })
    soon(() => splitUri(uri, find))
  }),
)

const templates = fc
  .array(fc.constantFrom('{', '}', '{a}', '{b*}', 'a', '/', 'x://', '%', 'é'), { maxLength: 40 })
  .map(parts => parts.join(''))

void holds(
  t,
  'a template matches what comes of it, and no template takes long',
  fc.property(
    templates,
    fc.string({ maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('a', '/'), maxLength: 5000 }),
    (template, value, long) => {
      const filled = template.replaceAll(/\{[^{}]*\}/g, () => value)
      assert.notEqual(matchTemplate(template, filled), undefined)
      soon(() => matchTemplate(template.repeat(50), long.repeat(20)))
    },
  ),
)

// ── what clients carry for us ──

const positions = fc.record({
  list: fc.constantFrom('tools' as const, 'prompts' as const, 'resources' as const, 'templates' as const),
  alias: anyText,
  aliasIndex: fc.nat(),
  key: fc.string({ unit: 'binary', maxLength: 400 }),
  index: fc.nat(),
})
const edits = fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.string({ maxLength: 2 })), {
  minLength: 1,
  maxLength: 3,
})
const edited = (text: string, all: readonly (readonly [number, number, string])[]): string =>
  all.reduce((changed, [place, cut, put]) => {
    const from = place % (changed.length + 1)
    return changed.slice(0, from) + put + changed.slice(from + cut)
  }, text)

void holds(
  t,
  'a cursor says where it was cut, and one that was changed says nothing',
  fc.property(positions, edits, anyText, (position, changes, foreign) => {
    const cursor = encodeCursor(position)
    const back = decodeCursor(cursor, position.list)
    assert.deepEqual(
      back,
      JSON.parse(Buffer.from(JSON.stringify({ ...position, key: cursorKey(position.key) })).toString()),
    )
    const changed = edited(cursor, changes)
    if (changed !== cursor) assert.equal(decodeCursor(changed, position.list), undefined)
    for (const text of [foreign, foreign.repeat(100)]) soon(() => decodeCursor(text, position.list))
  }),
)

void holds(
  t,
  'a cursor that somebody forged, checksum and all, is read or refused',
  fc.property(fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 7 })), value => {
    const payload = Buffer.from(JSON.stringify(value))
    const check = createHash('sha256').update(payload).digest().subarray(0, 6)
    const found = decodeCursor(Buffer.concat([check, payload]).toString('base64url'), 'tools')
    if (found !== undefined) assert.ok(found.index >= 0 && found.aliasIndex >= 0)
  }),
)

const sealer = createSealer({ keys: [{ kid: 'k', key: Buffer.alloc(32, 1) }], nowMs: () => 1e12 })
const states: fc.Arbitrary<SealedState> = fc
  .tuple(anyText, anyText, fc.jsonValue())
  .map(([server, digest, inner]) => ({
    kind: 'relay',
    server,
    digest,
    method: 'tools/call',
    principal: 'p',
    inner: textOf(inner),
  }))

void holds(
  t,
  'a sealed state opens as it was, and one that was changed does not open',
  fc.property(states, edits, anyText, (state, changes, foreign) => {
    const sealed = sealer.seal(state, 1000)
    const opened = sealer.open(sealed)
    assert.equal(opened?.kind, 'relay')
    if (opened?.kind === 'relay' && state.kind === 'relay') {
      assert.equal(opened.inner?.toString(), state.inner?.toString())
      assert.equal(opened.server, state.server)
    }
    const changed = edited(sealed, changes)
    if (changed !== sealed) assert.equal(sealer.open(changed), undefined)
    for (const text of [foreign, `v1.k.${foreign}`, `v1.k.${Buffer.from(foreign).toString('base64url')}`]) {
      assert.equal(sealer.open(text), undefined)
    }
  }),
)

// ── headers ──

void holds(
  t,
  'any text can be said in a header, and is read again as it was',
  fc.property(fc.string({ unit: 'grapheme' }), anyText, (text, foreign) => {
    const value = encodeHeaderValue(text)
    validateHeaderValue('x', value)
    assert.equal(decodeHeaderValue(value), text)
    decodeHeaderValue(foreign)
    decodeHeaderValue(`=?base64?${foreign}?=`)
  }),
)

void holds(
  t,
  'headers that repeat a request agree with it, and others do not',
  fc.property(
    fc.constantFrom('tools/call', 'prompts/get', 'resources/read', 'tools/list', 'x'),
    fc.string({ unit: 'grapheme' }),
    fc.jsonValue(),
    anyText,
    (method, name, args, other) => {
      const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
      const params = textOf({ name, uri: name, arguments: args, _meta: meta })
      const asked = { kind: 'request', id: rawText('1'), method, params } as const
      const headers = {
        'mcp-protocol-version': '2026-07-28',
        ...Object.fromEntries(
          Object.entries(mirrorHeaders(method, params)).map(([key, value]) => [key.toLowerCase(), value]),
        ),
      }
      assert.equal(checkHeaders(headers, asked), undefined)
      const wrong = checkHeaders({ ...headers, 'mcp-method': other }, asked)
      if (other.trim() !== method) assert.notEqual(wrong, undefined)
      assert.equal(stringOf(at(params, 'name')), Buffer.from(name).toString())
    },
  ),
)

void holds(
  t,
  'whatever stands in Accept and Content-Type is understood somehow, and soon',
  fc.property(
    anyText,
    fc.array(fc.constantFrom('*/*', 'application/json', 'text/*', ';q=0', ';q=1', ',', '"', '\\', ' '), {
      maxLength: 60,
    }),
    (text, parts) => {
      for (const header of [text, parts.join(''), parts.join('').repeat(40), '"'.repeat(5000)]) {
        soon(() => accepts(header, 'application/json'))
        soon(() => mediaTypeOf(header))
      }
      assert.equal(
        accepts(`${parts.join('').replaceAll(/[",\\]/g, '')}x/y`, 'zz/zz') && !parts.includes('*/*'),
        false,
      )
    },
  ),
)

const hosts = resolveHosts({ host: '127.0.0.1', port: 8808, configured: ['proxy.example'] })
const origins = resolveOrigins(['https://app.example'])

void holds(
  t,
  'no host and no origin of somebody else passes for ours, however it is written',
  fc.property(
    fc.oneof(anyText, fc.domain(), fc.webUrl(), fc.ipV4(), fc.ipV6()),
    fc.constantFrom('', '@', '.', '/', '#', '\\', ':', '%00', ' '),
    (text, glue) => {
      for (const host of [
        text,
        `localhost${glue}${text}`,
        `${text}${glue}localhost`,
        `127.0.0.1${glue}${text}`,
      ]) {
        if (hostAllowed(host, hosts)) {
          assert.match(host.toLowerCase(), /^(localhost|127\.0\.0\.1|\[::1\]|proxy\.example)(:\d{1,5})?$/)
        }
        for (const origin of [
          host,
          `http://${host}`,
          `https://${host}`,
          `https://app.example${glue}${text}`,
        ]) {
          if (originAllowed(origin, origins)) {
            const { hostname, origin: real } = new URL(origin)
            assert.ok(
              ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || real === 'https://app.example',
              origin,
            )
          }
        }
      }
    },
  ),
)

// ── words for people ──

void holds(
  t,
  'what a terminal is shown cannot steer it, and addresses are shown without secrets',
  fc.property(anyText, fc.webUrl({ withQueryParameters: true, withFragments: true }), (text, url) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    assert.ok(!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(plainText(text)))
    assert.ok(!/[\n\t]/.test(oneLineText(text)))
    soon(() => maskAddress(text))
    soon(() => mask(text))
    const secret = new URL(url)
    secret.username = 'ann'
    secret.password = 'hunter2hunter2'
    secret.searchParams.set('key', 'hunter2hunter2')
    assert.ok(!maskAddress(secret.href).includes('hunter2'))
    socketPathOf(text)
  }),
)

void holds(
  t,
  'a name that is a member of every object is a name like any other',
  fc.property(fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'), name => {
    const text = readJson(Buffer.from(`{"name":"${name}"}`))
    assert.equal(at(text, name), undefined)
    assert.equal(exposedName('a', name), `a__${name}`)
  }),
  10,
)

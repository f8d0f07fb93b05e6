import t from 'tap'
import { readBaggage, readParent, readTraceState } from '../../../src/telemetry/tracing/context.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const GOOD = `00-${TRACE}-${SPAN}-01`

t.test('a traceparent is read as W3C Trace Context says', async t => {
  const rows: readonly (readonly [why: string, text: string, flags: number | undefined])[] = [
    ['sampled', GOOD, 1],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, 0],
    ['the random flag stays', `00-${TRACE}-${SPAN}-03`, 3],
    ['unknown flags become 0', `00-${TRACE}-${SPAN}-fd`, 1],
    ['a later version', `cc-${TRACE}-${SPAN}-01`, 1],
    ['a later version with more', `cc-${TRACE}-${SPAN}-01-what-the-future-is`, 1],
    ['a later version with more that is not set apart', `cc-${TRACE}-${SPAN}-01.what`, undefined],
    ['version ff', `ff-${TRACE}-${SPAN}-01`, undefined],
    ['version 00 with more', `${GOOD}-more`, undefined],
    ['upper case', GOOD.toUpperCase(), undefined],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
    ['too short', GOOD.slice(0, -1), undefined],
    ['no hex', GOOD.replace('4', 'g'), undefined],
    ['other signs between', GOOD.replaceAll('-', '_'), undefined],
    ['several', `${GOOD}, ${GOOD}`, undefined],
    ['a line break', `${GOOD}\n${GOOD}`, undefined],
    ['nothing', '', undefined],
    ['a version of one digit', GOOD.slice(1), undefined],
    ['a version that is no hex', `0g-${TRACE}-${SPAN}-01`, undefined],
    ['a version in upper case', `CC-${TRACE}-${SPAN}-01`, undefined],
    ['flags of one digit', `00-${TRACE}-${SPAN}-1`, undefined],
    ['flags of three digits', `00-${TRACE}-${SPAN}-001`, undefined],
    ['flags in upper case', `00-${TRACE}-${SPAN}-0A`, undefined],
    ['no flags', `00-${TRACE}-${SPAN}`, undefined],
    ['a trace that is too long', `00-${TRACE}0-${SPAN}-01`, undefined],
    ['a span that is too long', `00-${TRACE}-${SPAN}0-01`, undefined],
    ['one digit moved to the span', `00-${TRACE.slice(1)}-${SPAN}0-01`, undefined],
    ['spaces around it, which Node takes from headers', ` ${GOOD} `, undefined],
    ['a space within', `00-${TRACE} ${SPAN}-01`, undefined],
    ['a quote around it', `"${GOOD}"`, undefined],
    ['a NUL behind it', `${GOOD}\0`, undefined],
    ['digits of another script', GOOD.replace('4', '４'), undefined],
    ['only dashes', '-'.repeat(55), undefined],
    ['only zeros', '0'.repeat(55), undefined],
    ['a word', 'undefined', undefined],
    ['a B3 header', `${TRACE}-${SPAN}-1`, undefined],
    ['a name before it', `traceparent=${GOOD}`, undefined],
    ['far too long', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(5000)}`, undefined],
  ]
  for (const [why, text, flags] of rows) t.equal(readParent(text)?.flags, flags, why)
  t.equal(readParent(undefined), undefined)
  t.same(readParent(GOOD), { traceId: TRACE, spanId: SPAN, flags: 1 })
})

t.test('a bad tracestate goes', async t => {
  const many = Array.from({ length: 32 }, (_, n) => `k${n}=v`).join(',')
  const long = Array.from({ length: 8 }, (_, n) => `k${n}=${'v'.repeat(200)}`).join(',')
  const rows: readonly (readonly [why: string, text: string, state: string | undefined])[] = [
    ['one', 'a=1', 'a=1'],
    ['the order stays', 'b=2, a=1', 'b=2,a=1'],
    ['a tenant', 'fw529a3039@dt=FfAAxDAAAA', 'fw529a3039@dt=FfAAxDAAAA'],
    ['empty members', 'a=1, ,b=2,', 'a=1,b=2'],
    ['32 members', many, many],
    ['33 members', `${many},z=1`, undefined],
    ['the end of what is too long', long, long.split(',').slice(0, 5).join(',')],
    ['a key twice', 'a=1,a=2', undefined],
    ['no value', 'a', undefined],
    ['an upper case key', 'A=1', undefined],
    ['control characters', 'a=\u0001', undefined],
    ['an equals sign', 'a=b=c', undefined],
    ['what is not ASCII', 'a=ü', undefined],
    ['nothing', ' ', undefined],
    ['no key', '=1', undefined],
    ['no value behind the sign', 'a=', undefined],
    ['a space in a key', 'a b=1', undefined],
    ['a key that begins with a sign', '-a=1', undefined],
    ['a key that begins with a digit and has no tenant', '1a=1', undefined],
    ['a tenant without a system', 'a@=1', undefined],
    ['two signs of a tenant', 'a@b@c=1', undefined],
    ['a system that begins with a digit', 'a@1b=1', undefined],
    ['a system that is too long', `a@${'b'.repeat(15)}=1`, undefined],
    ['a key that is too long', `${'k'.repeat(257)}=1`, undefined],
    ['a value that is too long', `a=${'v'.repeat(257)}`, undefined],
    ['an upper case key behind a semicolon', 'a;B=2', undefined],
    ['a tab in a value', 'a=1\t2', undefined],
    ['a DEL', 'a=\u007f', undefined],
    ['a line break', 'a=1\nb=2', undefined],
    ['a carriage return', 'a=1\rb', undefined],
    ['a NUL', 'a=\0', undefined],
    ['a lone surrogate', 'a=\ud800', undefined],
    ['JSON', '{"a":1}', undefined],
    ['one that is bad among good ones', 'a=1,B=2,c=3', undefined],
    ['the same key behind others', 'a=1,b=2,a=3', undefined],
    ['no end', 'a=1,'.repeat(100_000), undefined],
  ]
  for (const [why, text, state] of rows) t.equal(readTraceState(text), state, why)
})

t.test('baggage passes by its keys', async t => {
  const keys = new Set(['tenant', 'tier'])
  t.equal(readBaggage('tenant=a;p=1, user=b , tier=c', keys), 'tenant=a;p=1,tier=c')
  t.equal(readBaggage('user=b', keys), undefined)
  t.equal(readBaggage('tenant=a\r\nx: y', keys), undefined)
  t.equal(readBaggage('tenant=a', new Set()), undefined)
  t.equal(readBaggage(undefined, keys), undefined)
})

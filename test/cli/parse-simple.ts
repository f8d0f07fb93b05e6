import fc from 'fast-check'
import t from 'tap'
import { readCommandLine } from '../../src/cli/command-line.js'
import { check } from '../../src/cli/doctor/check.js'
import { doctor } from '../../src/cli/doctor/doctor.js'
import { parseSimple } from '../../src/cli/parse-simple.js'
import { bridge } from '../../src/cli/serve/bridge.js'
import { serve } from '../../src/cli/serve/serve.js'
import { stdio } from '../../src/cli/serve/stdio.js'
import type { Verb } from '../../src/cli/shared/verb.js'
import { logs } from '../../src/cli/status/logs.js'
import { status } from '../../src/cli/status/status.js'
import { why } from '../../src/cli/status/why.js'
import { call } from '../../src/cli/tools/call.js'
import { list } from '../../src/cli/tools/list.js'
import { runs } from '../support/property.js'

const SERVICES = { bridge, serve, stdio }
const VERBS: Readonly<Record<string, Verb>> = { ...SERVICES, call, check, doctor, list, logs, status, why }

const verbOf = (name: string): Verb => {
  const verb = VERBS[name]
  if (verb === undefined) throw new Error(`no verb ${name}`)
  return verb
}

const plainly = (name: string, words: readonly string[]) => parseSimple(verbOf(name), words) as unknown

const seen: { args: unknown } = { args: undefined }
for (const verb of Object.values(VERBS)) {
  verb.run = args => {
    seen.args = args
    return Promise.resolve(0)
  }
}

/** What the parser makes of it. */
const parsed = async (name: string, words: readonly string[]): Promise<unknown> => {
  seen.args = undefined
  const chosen = await readCommandLine([name, ...words], undefined)
  await chosen?.run()
  return seen.args
}

const PLAIN: readonly (readonly [verb: string, words: string])[] = [
  ['serve', '--config mcp.json'],
  ['serve', '--config=mcp.json --port 0 --allow-remote --host 0.0.0.0 --allowed-host a --allowed-host=b'],
  ['stdio', '--config mcp.json --log-level debug'],
  ['bridge', ''],
  ['bridge', '--to ws --port 0 --env A=1 --env B=-2'],
  ['bridge', 'https://example.com/mcp --to stdio --era legacy --header Name:x=y'],
  ['check', '--config mcp.json'],
  ['list', '--json'],
  ['call', 'a__search query=bug limit=5 --json'],
  ['call', 'true'],
  ['call', '12 1e3=0x10 null --args {"a":1}'],
  ['status', '--url http://127.0.0.1:1/mcp'],
  ['why', 'a__search --for 2025-06-18 --json'],
  ['logs', '--level warn --since 10m'],
]

t.test('what programs write on the command line needs no parser, and means the same as with it', async t => {
  for (const [name, text] of PLAIN) {
    const words = text.split(' ').filter(word => word !== '')
    const plain = plainly(name, words)
    t.ok(plain, `${name} ${text}`)
    t.same(plain, await parsed(name, words), `${name} ${text}`)
  }
})

const ODD: readonly (readonly [verb: string, words: readonly string[]])[] = [
  ['serve', ['--help']],
  ['serve', ['-h']],
  ['serve', ['--version']],
  ['serve', ['--prot', '1']],
  ['serve', ['--config']],
  ['serve', ['--config=']],
  ['serve', ['--config', '']],
  ['serve', ['--config', '-']],
  ['serve', ['--config', '--port']],
  ['serve', ['--config', 'a', '--config', 'b']],
  ['serve', ['--config', 'a', 'extra']],
  ['serve', ['--log-level', 'loud']],
  ['serve', ['--logLevel', 'debug']],
  ['serve', ['--allow-remote', 'false']],
  ['serve', ['--allow-remote=false']],
  ['serve', ['--__proto__', 'x']],
  ['serve', ['--constructor', 'x']],
  ['bridge', ['--port', '-1']],
  ['bridge', ['a', 'b']],
  ['bridge', ['--header', '"quoted"']],
  ['call', []],
  ['call', ['--json']],
  ['call', ['tool', '-x=1']],
  ['why', []],
  ['logs', ['-f']],
  ['logs', ['--follow']],
]

t.test('ambiguous command lines are left to the parser', async t => {
  for (const [name, words] of ODD) t.equal(plainly(name, words), undefined, [name, ...words].join(' '))
})

t.test('no words are read in another way than the parser reads them', async t => {
  const word = fc.constantFrom(
    ...['--config', '--port', '--to', '--era', '--header', '--env', '--json', '--allow-remote', '--args'],
    ...['--config=x', '--to=ws', '--header=a: b', '--allowed-host', '--log-level', '--log-level=info'],
    ...['x', 'http', 'stdio', 'debug', 'legacy', '0', '08', '1e3', '0x1F', '-0', 'true', 'false', 'null', ''],
    ...['a=b', 'a.b', '--a.b', '--no-json', '--json=true', '-', "'x'", '"x"', 'x y', '[1]', 'é', '--', '\n'],
    ...['undefined', 'NaN', '=', '=x', '--config=a=b', '--toString', '@x', '$0', '_', '9'.repeat(20)],
  )
  const line = fc.tuple(fc.constantFrom(...Object.keys(VERBS)), fc.array(word, { maxLength: 6 }))
  let [all, plain] = [0, 0]
  await fc.assert(
    fc.asyncProperty(line, async ([name, words]) => {
      if (words.includes('--')) return
      all += 1
      const read = plainly(name, words)
      if (read === undefined) return
      plain += 1
      t.same(read, await parsed(name, words), `${name} ${JSON.stringify(words)}`)
    }),
    runs(1500),
  )
  t.ok(plain > all / 15, `${plain} of ${all} lines were plain`)
})

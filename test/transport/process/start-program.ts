import fc from 'fast-check'
import t from 'tap'
import { cmdArguments, startFault } from '../../../src/transport/process/start-program.js'

/**
 * `%name%` as `cmd` puts values in their place at its prompt: what is no variable stays, and a sign that
 * begins none is passed over.
 */
const withVariables = (line: string, env: Readonly<Record<string, string>>): string => {
  let out = ''
  for (let at = 0; at < line.length; ) {
    const [all = '', name = ''] = /^%([^%:]+)(?::~,)?%/.exec(line.slice(at)) ?? []
    const value = env[name.toUpperCase()]
    if (all !== '' && value !== undefined) {
      out += all.includes(':~,') ? '' : value
      at += all.length
    } else {
      out += line[at]
      at += 1
    }
  }
  return out
}

/**
 * A line as `cmd` reads it, up to what it would take for the next command; carets outside of quotes are taken
 * away.
 */
const command = (line: string): string => {
  let out = ''
  let isQuoted = false
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? ''
    if (char === '"') isQuoted = !isQuoted
    else if (!isQuoted && /[&|<>()\n]/.test(char)) return out
    else if (!isQuoted && char === '^') at += 1
    out += line[at] ?? ''
  }
  return out
}

/** Words as Microsoft's C runtime cuts a line into them ("Parsing C command-line arguments"). */
const wordsOf = (line: string): string[] => {
  const words: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (let rest = line; rest !== ''; ) {
    const [all, slashes = ''] = /^(\\*)"/.exec(rest) ?? []
    if (all !== undefined) {
      const isEscaped = slashes.length % 2 === 1
      const isDoubled = !isEscaped && isQuoted && rest[all.length] === '"'
      word = `${word ?? ''}${slashes.slice(0, slashes.length / 2)}${isEscaped || isDoubled ? '"' : ''}`
      if (!isEscaped && !isDoubled) isQuoted = !isQuoted
      rest = rest.slice(all.length + (isDoubled ? 1 : 0))
      continue
    }
    const isEnd = !isQuoted && /^[ \t]/.test(rest)
    if (isEnd && word !== undefined) words.push(word)
    word = isEnd ? undefined : `${word ?? ''}${rest[0]}`
    rest = rest.slice(1)
  }
  return word === undefined ? words : [...words, word]
}

const FILE = 'C:\\Program Files (x86)\\100%OS%\\tool.cmd'
const env = { CD: 'C:\\Users', OS: 'Windows_NT', A: 'x & calc' }

/**
 * What the program gets whose shim is the file: the shim's own line ends with `%*`, which holds the words as
 * they stand.
 */
const throughShim = (args: readonly string[]): string[] => {
  const [line = '', ...options] = cmdArguments(FILE, args).reverse()
  t.same(options, ['/c', '/s', '/v:off', '/e:on', '/d'])
  // `/s`: the first and the last quote go, whatever is between them.
  const first = command(withVariables(line.slice(1, -1), env))
  t.ok(first.startsWith(`"${FILE}"`), 'it is that very file')
  return wordsOf(command(first.slice(FILE.length + 2)))
}

t.test('words reach the program behind a shim of npm as they are, and nothing of them runs', async t => {
  const words = [
    '{"url":"https://h/?a=1&b=2"}',
    'x" & echo INJECTED & "',
    '"',
    '""',
    'a"b&c"d"',
    '%OS%',
    '%A%"%A%',
    '100%',
    '%cd:~,%',
    'a^b',
    '^"&',
    'a b',
    '',
    'b\\',
    'b \\',
    '\\"',
    'C:\\Users\\me\\',
    '日本',
    '!OS!',
    '(a|b)>c<d',
    '-y',
  ]
  t.same(throughShim(words), words)
  for (const word of words) t.same(throughShim([word]), [word])
})

t.test('any words do', async () => {
  const word = fc.string({ unit: fc.constantFrom(...'"%&^|<>()\\ \tA!=,;*?ö:~cd') })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), words => {
      const got = throughShim(words)
      return got.length === words.length && got.every((one, at) => one === words[at])
    }),
  )
})

t.test('plain words stay bare: hand-written batch files compare them', async t => {
  t.equal(
    cmdArguments('C:\\t.cmd', ['-y', 'C:\\a\\b.js', '--port=1']).at(-1),
    '""C:\\t.cmd" -y C:\\a\\b.js "--port=1""',
  )
})

t.test('a line break, at which the line would end, is refused in words', async t => {
  for (const word of ['a\nb', 'a\r']) t.throws(() => cmdArguments('C:\\t.cmd', [word]), /line breaks/)
})

t.test('a program that is not there is told with the number of its check', t => {
  const missing = Object.assign(new Error('spawn x ENOENT'), { code: 'ENOENT' })
  t.match(startFault(missing, undefined), { message: /command not found/, data: { doctor: 'D030' } })
  t.match(startFault(missing, '/no/such/folder'), { message: /working directory/, data: undefined })
  const denied = Object.assign(new Error('spawn x EACCES'), { code: 'EACCES' })
  t.match(startFault(denied, undefined), { message: /permission denied/, data: undefined })
  t.end()
})

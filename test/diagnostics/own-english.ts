import { dirname, join } from 'node:path/posix'
import t from 'tap'
import ts from 'typescript'
import { textOf, tracked } from '../support/suggestions.js'

/** Texts that src has to recognize, with their author. Messages of this project are not allowed. */
const FOREIGN: readonly (readonly [file: string, text: RegExp, author: string])[] = [
  ['src/auth/authorization-server/server.ts', /Unsupported runtime/, 'oidc-provider'],
  ['src/cli/command-line.ts', /Choices:|Unknown|Not enough/, 'yargs'],
  ['src/cluster/check.ts', /NOPERM|WRONGPASS|MOVED/, 'Redis'],
  ['src/cluster/engine/engine.ts', /NOSCRIPT|ERR/, 'Redis'],
  ['src/control/environment/environment.ts', /FROM_SHELL/, 'the name of a source in `status --env --json`'],
  ['src/kernel/error-lines.ts', /TRACEBACK|ERROR/, 'Python and other runtimes'],
  ['src/setup/import/folder.ts', /PROJECT_TOOLS/, 'command lines'],
  ['src/telemetry/metrics/gauges.ts', /Max open/, 'Linux, /proc/PID/limits'],
  ['src/transport/http/server.ts', /Max open/, 'Linux, /proc/PID/limits'],
  ['src/transport/ws/client.ts', /subprotocol/, 'the package ws'],
]

/** Methods that search in a text. */
const SEARCHES = new Set([
  'startsWith',
  'endsWith',
  'includes',
  'indexOf',
  'match',
  'matchAll',
  'search',
  'split',
])
/** Methods of a regular expression that search in their argument. */
const TESTS = new Set(['test', 'exec'])
/** Names of values that hold a message for people. */
const MESSAGES = /^(?:message|msg|why|reason|says|fix|remark)s?$/i
const EQUALS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
])

/** Returns the words of a text or regular expression, without character classes and metacharacters. */
const wordsIn = (pattern: string): readonly string[] =>
  pattern
    .replace(/\\[a-z]|\[[^\]]*\]|\(\?[:=!<]*|[()^$|?*+.{}\\]/gi, '\0')
    .split(/[^A-Za-z\0 ']+/)
    .filter(part => part !== '')

/** Two words in a row, such as "could not": English rather than a name, a key or a format. */
const isEnglish = (pattern: string): boolean =>
  // The commands of this program are names, also of clients.
  !pattern.startsWith('mcp-proxy ') && wordsIn(pattern).some(part => /[A-Za-z']{2,} [a-z]{2,}/.test(part))

const hasWord = (pattern: string): boolean => wordsIn(pattern).some(part => /[A-Za-z]{3,}/.test(part))

const patternOf = (node: ts.Node): string | undefined => {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf('/'))
  return ts.isTemplateExpression(node)
    ? [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('\0')
    : undefined
}

type Constants = ReadonlyMap<string, readonly string[]>

/** The texts and patterns of a file's constants, by name, also of those in lists. */
const constantsIn = (tree: ts.SourceFile): Constants => {
  const found = new Map<string, string[]>()
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      const name = node.name.text
      const add = (inner: ts.Node): void => {
        const pattern = patternOf(inner)
        if (pattern !== undefined) found.set(name, [...(found.get(name) ?? []), pattern])
        else if (ts.isArrayLiteralExpression(inner) || ts.isAsExpression(inner)) ts.forEachChild(inner, add)
      }
      if (/^[A-Z][A-Z_\d]*$/.test(name)) add(node.initializer)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** The constants that a file imports from others. */
const importedIn = (tree: ts.SourceFile, others: ReadonlyMap<string, Constants>): Constants => {
  const found = new Map<string, readonly string[]>()
  for (const statement of tree.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const file = join(dirname(tree.fileName), statement.moduleSpecifier.text)
    const constants = others.get(file.replace(/\.js$/, '.ts'))
    const names = statement.importClause?.namedBindings
    if (constants === undefined || names === undefined || !ts.isNamedImports(names)) continue
    for (const { name, propertyName = name } of names.elements)
      found.set(name.text, constants.get(propertyName.text) ?? [])
  }
  return found
}

/** The last name of an expression: `message` for `problem.message` and `messageOf(thrown)`. */
const nameOf = (node: ts.Node): string => {
  if (ts.isIdentifier(node)) return node.text
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression))
    return node.argumentExpression.text
  if (ts.isCallExpression(node)) {
    const called = nameOf(node.expression)
    const [first] = node.arguments
    return called === 'String' && first !== undefined ? nameOf(first) : called.replace(/Of$/, '')
  }
  return ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node) ? nameOf(node.expression) : ''
}

interface Comparison {
  /** The value that is searched or compared. */
  readonly operand: ts.Node
  readonly pattern: ts.Node
  readonly isSearch: boolean
}

const comparisonsAt = (node: ts.Node): readonly Comparison[] => {
  if (ts.isCaseClause(node))
    return [{ operand: node.parent.parent.expression, pattern: node.expression, isSearch: false }]
  if (ts.isBinaryExpression(node) && EQUALS.has(node.operatorToken.kind)) {
    const { left, right } = node
    return [
      { operand: left, pattern: right, isSearch: false },
      { operand: right, pattern: left, isSearch: false },
    ]
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return []
  const { name, expression: receiver } = node.expression
  const [first] = node.arguments
  if (first === undefined) return []
  if (SEARCHES.has(name.text)) return [{ operand: receiver, pattern: first, isSearch: true }]
  return TESTS.has(name.text) ? [{ operand: first, pattern: receiver, isSearch: true }] : []
}

/** Finds comparisons with English texts, and searches for words in messages. */
const recognitions = (tree: ts.SourceFile, constants: Constants): readonly string[] => {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    for (const { operand, pattern, isSearch } of comparisonsAt(node)) {
      const own = patternOf(pattern)
      const patterns = own === undefined ? (constants.get(nameOf(pattern)) ?? []) : [own]
      const isMessage = isSearch && MESSAGES.test(nameOf(operand))
      if (patterns.some(each => isEnglish(each) || (isMessage && hasWord(each)))) {
        const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree))
        found.push(`${tree.fileName}:${line + 1}: ${node.getText(tree).split('\n')[0]}`)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

const treeOf = (name: string, text: string): ts.SourceFile =>
  ts.createSourceFile(
    name,
    text,
    ts.ScriptTarget.Latest,
    true,
    name.endsWith('x') ? ts.ScriptKind.TSX : undefined,
  )

t.test('a comparison with a message is found, and one with a code is not', async t => {
  const found = (text: string): number => {
    const tree = treeOf('a.ts', text)
    return recognitions(tree, constantsIn(tree)).length
  }
  for (const text of [
    `if (error.message.startsWith('left out')) f()`,
    `const is = words === 'no answer in time'`,
    'const [, name] = /^the variable (.*) is not set$/.exec(message) ?? []',
    `const NOISE = 'ignoring output'\nconst is = msg.startsWith(NOISE)`,
    `const NONE = 'no command is named'\nif (message === NONE) f()`,
    'const LOSSES = [[/exited|killed/, 1]]\nconst is = /exited|killed/i.test(why)',
    `switch (text) { case 'it was lost': f() }`,
    `const is = String(thrown.message).includes('subprotocol')`,
    `const [what] = thrown.message.split('because')`,
  ])
    t.not(found(text), 0, text)
  for (const text of [
    `const is = reason === 'server_exited' || state.startsWith('needs-')`,
    `const is = text.startsWith('{') && line.includes(' ')`,
    `const first = message.split('\\n')[0]`,
    `const is = /^[\\w.@:-]+$/.test(word)`,
    `throw new Fault('internal', 'the server is gone')`,
  ])
    t.equal(found(text), 0, text)
})

t.test('no code recognizes the messages of this project', async t => {
  const files = tracked('src').filter(file => /\.tsx?$/.test(file) && !file.includes('.generated.'))
  const trees = files.map(file => treeOf(file, textOf(file)))
  const local = new Map(trees.map(tree => [tree.fileName, constantsIn(tree)]))
  const found = trees.flatMap(tree =>
    recognitions(tree, new Map([...importedIn(tree, local), ...(local.get(tree.fileName) ?? [])])),
  )
  const isForeign = (line: string): boolean =>
    FOREIGN.some(([file, text]) => line.startsWith(`${file}:`) && text.test(line))
  t.same(
    found.filter(line => !isForeign(line)),
    [],
  )
  for (const [file, text] of FOREIGN)
    t.ok(
      found.some(line => line.startsWith(`${file}:`) && text.test(line)),
      `${file} still needs its exception`,
    )
  t.ok(FOREIGN.length <= 10)
})

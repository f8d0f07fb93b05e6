import t from 'tap'
import { errorLine, errorLines } from '../../src/kernel/error-lines.js'

const STACKS: Readonly<Record<string, readonly [telling: string, stack: string]>> = {
  'Node, a syntax error': [
    "SyntaxError: Unexpected identifier 'bar'",
    `file:///srv/server.mjs:1
foo bar
    ^^^

SyntaxError: Unexpected identifier 'bar'
    at compileSourceTextModule (node:internal/modules/esm/utils:338:16)
    at ModuleLoader.moduleStrategy (node:internal/modules/esm/translators:106:18)

Node.js v20.20.2`,
  ],
  'Node, a missing module': [
    "Error: Cannot find module '/srv/nope.js'",
    `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/nope.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:23:47 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2`,
  ],
  'Node, an error with a code': [
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /srv/a.mjs",
    `Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /srv/a.mjs
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:255:9)
    at defaultResolve (node:internal/modules/esm/resolve:1169:11)`,
  ],
  Python: [
    "ModuleNotFoundError: No module named 'mcp'",
    `Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    import mcp
    ^^^^^^^^^^
ModuleNotFoundError: No module named 'mcp'`,
  ],
  'Python, an exception by another name': [
    'requests.exceptions.Timeout: too slow',
    `Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    main()
  File "/srv/server.py", line 9, in main
    raise Timeout("too slow")
requests.exceptions.Timeout: too slow`,
  ],
  JVM: [
    'Exception in thread "main" java.lang.IllegalStateException: no database',
    `Exception in thread "main" java.lang.IllegalStateException: no database
 at com.example.Server.main(Server.java:12)
 at java.base/jdk.internal.reflect.DirectMethodHandleAccessor.invoke(Unknown Source)
 ... 3 more`,
  ],
  '.NET': [
    'Unhandled exception. System.InvalidOperationException: no database',
    `Unhandled exception. System.InvalidOperationException: no database
   at Server.Program.Main(String[] args) in /srv/Program.cs:line 7
   --- End of inner exception stack trace ---`,
  ],
  Go: [
    'panic: runtime error: index out of range [3] with length 2',
    `panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
main.main()
 /srv/main.go:8 +0x1d
exit status 2`,
  ],
}

t.test('the error of a program is told, and not the stack below it', async t => {
  for (const [what, [telling, stack]] of Object.entries(STACKS)) {
    const lines = stack.split('\n')
    t.equal(errorLine(lines), telling, what)
    t.ok(errorLines(lines, 5).includes(telling), `${what}, among five`)
    t.ok(errorLines(lines, 1).includes(telling), `${what}, alone`)
    t.notMatch(errorLines(lines, 20).join('\n'), /^\s+at |\^\^|Node\.js v/m, what)
  }
})

t.test('without an error the last lines are told', async t => {
  t.same(errorLines(['one', '', 'two', 'three'], 2), ['two', 'three'])
  t.equal(errorLine(['one', 'two']), 'two')
  t.equal(errorLine([]), undefined)
  t.same(errorLines(['    at one', '    at two'], 1), ['at two'])
})

t.test('the lines that name the cause of an exit are kept, stack frames are not', async t => {
  const lines = [
    '/srv/server.mjs:3',
    'const x = = 1',
    '          ^',
    '',
    'SyntaxError: Unexpected token',
    '    at wrapSafe (node:internal/modules/cjs/loader:1378:20)',
    '    at node:internal/main/run_main_module:28:49',
    '',
    'Node.js v20.20.2',
  ]
  t.same(errorLines(lines, 2), ['const x = = 1', 'SyntaxError: Unexpected token'])
  t.same(errorLines(['    at x (y.js:1:2)'], 5), ['at x (y.js:1:2)'], 'unless there is nothing else')
  t.same(errorLines(['\u001b[31mred\u001b[0m\rline'], 5), ['red line'])
})

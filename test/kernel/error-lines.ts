import t from 'tap'
import { errorLine, errorLines, isTelling, withErrorLine } from '../../src/kernel/error-lines.js'

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

/** Output of programs that lack a setting, with the line that names it. */
const FAILURES: Readonly<Record<string, readonly [telling: string, output: string]>> = {
  'Node, thrown in a constructor': [
    'Error: WEATHER_API_KEY environment variable is required',
    `/srv/server.js:4
      throw new Error('WEATHER_API_KEY environment variable is required')
      ^

Error: WEATHER_API_KEY environment variable is required
    at new WeatherServer (/srv/server.js:4:13)
    at Object.<anonymous> (/srv/server.js:9:1)
    at Module._compile (node:internal/modules/cjs/loader:1554:14) {
  code: 'E_CONFIG',
  hint: [
    'set it'
  ]
}

Node.js v20.20.2`,
  ],
  'Node, a rejected promise': [
    'Unhandled rejection: WEATHER_API_KEY is required',
    `node:internal/process/promises:288
            triggerUncaughtException(err, true /* fromPromise */);
            ^

[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "WEATHER_API_KEY is required".] {
  code: 'ERR_UNHANDLED_REJECTION'
}

Node.js v20.20.2`,
  ],
  'Node, a thrown string': [
    'WEATHER_API_KEY is required',
    `/srv/server.js:1
throw 'WEATHER_API_KEY is required'
^
WEATHER_API_KEY is required
(Use \`node --trace-uncaught ...\` to show where the exception was thrown)

Node.js v20.20.2`,
  ],
  'Node, a cause': [
    '[cause]: Error: WEATHER_API_KEY is required',
    `Error: cannot start
    at file:///srv/server.mjs:3:9 {
  [cause]: Error: WEATHER_API_KEY is required
      at file:///srv/server.mjs:2:11
}`,
  ],
  'Node, logged': [
    'Fatal error in main(): Error: WEATHER_API_KEY is required',
    `Starting server
Fatal error in main(): Error: WEATHER_API_KEY is required
    at main (/srv/server.js:3:9)
Goodbye`,
  ],
  'Python, a KeyError with a text': [
    "KeyError: 'WEATHER_API_KEY environment variable is required'",
    `Traceback (most recent call last):
  File "/srv/server.py", line 9, in <module>
    main()
    ~~~~^^
  File "/srv/server.py", line 5, in main
    raise KeyError('WEATHER_API_KEY environment variable is required')
KeyError: 'WEATHER_API_KEY environment variable is required'`,
  ],
  'Python, one after the other': [
    'RuntimeError: no WEATHER_API_KEY',
    `Traceback (most recent call last):
  File "/srv/server.py", line 2, in <module>
    os.environ['WEATHER_API_KEY']
KeyError: 'WEATHER_API_KEY'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/server.py", line 4, in <module>
    raise RuntimeError('no WEATHER_API_KEY')
RuntimeError: no WEATHER_API_KEY`,
  ],
  'Python, a group': [
    "KeyError: 'WEATHER_API_KEY'",
    `  + Exception Group Traceback (most recent call last):
  |   File "/srv/server.py", line 20, in <module>
  |     anyio.run(main)
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/server.py", line 8, in serve
    |     os.environ['WEATHER_API_KEY']
    | KeyError: 'WEATHER_API_KEY'
    +------------------------------------`,
  ],
  'Python, pydantic': [
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings weather_api_key Field required [type=missing, input_type=dict]',
    `Traceback (most recent call last):
  File "/srv/server.py", line 8, in <module>
    Settings()
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
weather_api_key
  Field required [type=missing, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.11/v/missing`,
  ],
  'Python, sys.exit': ['WEATHER_API_KEY is required', 'Starting\nWEATHER_API_KEY is required\nbye'],
  argparse: [
    'server.py: error: the following arguments are required: --key',
    'usage: server.py [-h] --key KEY\nserver.py: error: the following arguments are required: --key',
  ],
  'JVM, a cause': [
    'Caused by: java.lang.IllegalArgumentException: WEATHER_API_KEY is required',
    `Exception in thread "main" java.lang.RuntimeException: cannot start
\tat com.example.Server.main(Server.java:12)
Caused by: java.lang.IllegalArgumentException: WEATHER_API_KEY is required
\tat com.example.Config.<init>(Config.java:7)
\t... 1 more`,
  ],
  '.NET, an inner exception': [
    '---> System.ArgumentException: WEATHER_API_KEY is required',
    `Unhandled exception. System.TypeInitializationException: The type initializer for 'Server' threw an exception.
 ---> System.ArgumentException: WEATHER_API_KEY is required
   at Server..cctor() in /srv/Server.cs:line 5
   --- End of inner exception stack trace ---
   at Program.Main(String[] args) in /srv/Program.cs:line 3`,
  ],
  'Go, log.Fatal': [
    '2026/11/28 12:00:00 WEATHER_API_KEY is required',
    '2026/11/28 12:00:00 starting\n2026/11/28 12:00:00 WEATHER_API_KEY is required\nexit status 1',
  ],
  'Go, a panic': [
    'panic: WEATHER_API_KEY is required',
    `panic: WEATHER_API_KEY is required

goroutine 1 [running]:
main.mustEnv(...)
\t/srv/main.go:8
main.main()
\t/srv/main.go:12 +0x1d
exit status 2`,
  ],
  'Rust, a panic': [
    "thread 'main' panicked at src/main.rs:5:40: WEATHER_API_KEY is required: NotPresent",
    `thread 'main' panicked at src/main.rs:5:40:
WEATHER_API_KEY is required: NotPresent
stack backtrace:
   0: rust_begin_unwind
   1: core::panicking::panic_fmt
note: run with \`RUST_BACKTRACE=full\` for a verbose backtrace`,
  ],
  'Rust, an error of main': ['Error: "WEATHER_API_KEY is required"', 'Error: "WEATHER_API_KEY is required"'],
  Ruby: [
    'server.rb:3:in `fetch\': key not found: "WEATHER_API_KEY" (KeyError)',
    'server.rb:3:in `fetch\': key not found: "WEATHER_API_KEY" (KeyError)\n\tfrom server.rb:3:in `<main>\'',
  ],
  npm: [
    'npm error 404 Not Found - GET https://registry.npmjs.org/no-such - Not found',
    `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such - Not found
npm error 404
npm error 404  'no-such@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log`,
  ],
  'npm 9': [
    'npm ERR! could not determine executable to run',
    'npm ERR! could not determine executable to run\n\nnpm ERR! A complete log of this run can be found in: x',
  ],
  uv: [
    '╰─▶ Because no-such was not found in the package registry, your requirements are unsatisfiable.',
    '  × No solution found when resolving tool dependencies:\n  ╰─▶ Because no-such was not found in the package registry, your requirements are unsatisfiable.',
  ],
  docker: [
    'docker: Error response from daemon: pull access denied for x.',
    "Unable to find image 'x:latest' locally\ndocker: Error response from daemon: pull access denied for x.\nSee 'docker run --help'.",
  ],
  'a shell': ['sh: 1: weather: not found', 'sh: 1: weather: not found'],
  'a plain text': [
    'Error: WEATHER_API_KEY is required',
    'Error: WEATHER_API_KEY is required\nUsage: weather [options]\n  --help  show this',
  ],
}

t.test('each runtime shows the setting that a program lacks', async t => {
  for (const [what, [telling, output]] of Object.entries(FAILURES)) {
    // Kept lines are never blank.
    const lines = output.split('\n').filter(line => line.trim() !== '')
    t.equal(errorLine(lines), telling, what)
    t.match(
      errorLines(lines, 5).join(' '),
      telling.split(': ').at(-1)?.slice(-20) ?? '',
      `${what}, among five`,
    )
    t.ok(lines.some(isTelling), what)
    t.equal(withErrorLine('exited with code 1', lines), `exited with code 1; it last wrote: ${telling}`)
  }
})

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

t.test('lines of a program that are meant to take long are read in linear time', t => {
  const before = process.cpuUsage()
  const parts = [
    '(',
    'a(',
    '()',
    '(Use `node ` to show where ',
    '^ ',
    ' at ',
    'a.',
    'a:',
    'Error',
    '| ',
    "' panicked",
  ]
  for (const part of parts) {
    const line = `${part.repeat(64 * 1024).slice(0, 64 * 1024)}!`
    t.type(isTelling(line), 'boolean')
    t.type(errorLine([line]), 'string')
  }
  t.ok(process.cpuUsage(before).user < 2_000_000, 'of our time, whatever else the machine does')
  t.end()
})

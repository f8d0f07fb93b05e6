// Writes docs/images/init.svg from a real run of `mcp-proxy init`: `npm run recording` after `npm run build`.
// The run has a temporary home with two clients, real servers, and a terminal of 80 columns from `script` of
// Linux. With `--check`, compares the run with the picture and writes nothing.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Screen } from './recording/screen.mjs'
import { svgOf } from './recording/svg.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const PICTURE = join(root, 'docs/images/init.svg')
const COLUMNS = 80
/** The time that a person takes to answer. */
const ANSWER_MS = 1_200
const LIMIT_MS = 120_000
const isCheck = process.argv.includes('--check')

const server = (name, ...args) => ({
  command: 'node',
  args: [join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
})

/** Makes a home in which two clients have servers, one of them in both. */
const makeHome = () => {
  const home = mkdtempSync(join(tmpdir(), 'init-'))
  const everything = server('everything', 'stdio')
  const memory = { ...server('memory'), env: { MEMORY_FILE_PATH: join(home, 'memory.jsonl') } }
  const files = { ...server('filesystem', home), env: { API_KEY: 'sk-recording-0123456789abcdef' } }
  mkdirSync(join(home, '.cursor'))
  mkdirSync(join(home, 'bin'))
  const write = (file, mcpServers) =>
    writeFileSync(join(home, file), JSON.stringify({ mcpServers }, undefined, 2))
  write('.claude.json', { everything, memory })
  write('.cursor/mcp.json', { everything, files })
  chmodSync(join(root, 'bin/mcp-proxy.js'), 0o755)
  symlinkSync(join(root, 'bin/mcp-proxy.js'), join(home, 'bin/mcp-proxy'))
  symlinkSync(process.execPath, join(home, 'bin/node'))
  return home
}

const environmentOf = home => ({
  HOME: home,
  PATH: [join(home, 'bin'), '/usr/bin', '/bin'].join(':'),
  SHELL: '/bin/sh',
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
  XDG_STATE_HOME: join(home, '.local/state'),
  MCP_PROXY_RUN_DIR: join(home, 'run'),
})

/** Runs init and answers each question with Enter. Resolves with the screen at its end. */
const run = async home => {
  const screen = new Screen(COLUMNS)
  const start = Date.now()
  const terminal = spawn(
    'script',
    ['-qfec', `stty cols ${COLUMNS} rows 40; exec mcp-proxy init`, '/dev/null'],
    {
      cwd: home,
      env: environmentOf(home),
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const limit = setTimeout(() => terminal.kill(), LIMIT_MS)
  // Time that a loaded machine takes is not worth watching.
  const now = () => Math.min(Date.now() - start, clock.atMs + 1_500)
  const clock = { atMs: 0 }
  screen.write('\u001b[2m$\u001b[22m mcp-proxy init\r\n', 0)
  let asked = 0
  terminal.stdout.setEncoding('utf8')
  terminal.stdout.on('data', chunk => {
    clock.atMs = now()
    screen.write(chunk, clock.atMs)
    const questions = screen.text().match(/\[Y\/n[^\]]*\]/g)?.length ?? 0
    if (questions === asked) return
    asked = questions
    setTimeout(() => terminal.stdin.write('\r'), isCheck ? 0 : ANSWER_MS)
  })
  const [code] = await once(terminal, 'close')
  clearTimeout(limit)
  if (code !== 0) throw new Error(`init ended with ${code}:\n${screen.text()}`)
  return screen
}

/** Returns the text of a screen without its times, which differ from run to run. */
const comparable = text =>
  text
    .replace(/\d+(?:\.\d+)? (?:s|ms)\b/g, 'N s')
    .replace(/ +$/gm, '')
    .trim()

const textOf = svg =>
  [...svg.matchAll(/<text [^>]*y="(\d+)">(.*?)<\/text>/g)]
    .sort(([, a], [, b]) => Number(a) - Number(b))
    .map(([, , text]) =>
      text
        .replace(/<[^>]+>/g, '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
    )
    .join('\n')

const home = makeHome()
try {
  const screen = await run(home)
  const rows = screen.rows()
  if (isCheck) {
    const [now, before] = [screen.text().replace(/\n{2,}/g, '\n'), textOf(readFileSync(PICTURE, 'utf8'))].map(
      comparable,
    )
    if (now !== before) {
      console.error(
        `${PICTURE} is stale; fix: npm run recording\n\nnow:\n${now}\n\nin the picture:\n${before}`,
      )
      process.exitCode = 1
    }
  } else {
    mkdirSync(dirname(PICTURE), { recursive: true })
    const description =
      'The command finds the servers of two clients, starts them behind the proxy, and replaces them with one entry.'
    writeFileSync(PICTURE, svgOf(rows, { columns: COLUMNS, title: 'A run of mcp-proxy init', description }))
    console.log(screen.text())
  }
} finally {
  spawnSync(process.execPath, [join(root, 'bin/mcp-proxy.js'), 'daemon', 'stop'], {
    env: environmentOf(home),
    stdio: 'ignore',
  })
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}

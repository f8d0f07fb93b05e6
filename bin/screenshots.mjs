#!/usr/bin/env node
// Takes the pictures of the page for docs/ from the last build, with servers that fail in different ways:
// docs/ui.png and docs/ui-dark.png. With a folder, takes every view instead, or the given ones, wide and
// narrow, light and dark. Needs Chromium; CHROMIUM names another one than /usr/bin/chromium.
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'

const PROGRAM = fileURLToPath(new URL('./mcp-proxy.js', import.meta.url))
const DOCS = fileURLToPath(new URL('../docs', import.meta.url))
const run = promisify(execFile)

/** A stdio server; its argument is the name of its tools. */
const SERVER = `
const [role, delayMs] = [process.argv[2], Number(process.argv[3] ?? 5)]
const object = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])) })
const tool = (name, description, isRead, ...names) => ({
  name, description, inputSchema: object(...names),
  ...(isRead !== undefined && { annotations: { readOnlyHint: isRead, destructiveHint: isRead === false && name.startsWith('delete') } }),
})
const TOOLS = {
  github: [
    tool('search_issues', 'Searches issues and pull requests of a repository', true, 'repo', 'words'),
    tool('get_issue', 'Returns an issue with its comments', true, 'repo', 'number'),
    tool('create_issue', 'Opens an issue', false, 'repo', 'title', 'body'),
    tool('delete_branch', 'Deletes a branch', false, 'repo', 'branch'),
  ],
  files: [
    tool('read_file', 'Reads a file of the project', true, 'path'),
    tool('write_file', 'Writes a file of the project', false, 'path', 'text'),
    tool('list_folder', 'Lists a folder of the project', undefined, 'path'),
  ],
  reports: [tool('monthly_report', 'Builds the report of a month', true, 'month')],
}
const results = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: role, version: '1.0' } }),
  'tools/list': () => ({ tools: TOOLS[role] }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: 'done' }], isError: name === 'delete_branch' }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const send = () => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.(params) ?? {} }) + '\\n')
  if (id !== undefined) setTimeout(send, method === 'tools/call' ? delayMs * (0.5 + Math.random()) : 0)
})
`
const CRASH = `
console.error('notes 2.3.1 starting')
throw new Error('NOTES_TOKEN is not set: create one at https://notes.example/tokens')
`

/** A server that requires a login. */
const startLoginServer = async () => {
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`
    const json = body => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (request.url.startsWith('/.well-known/oauth-protected-resource'))
      return json({ resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (request.url.startsWith('/.well-known/oauth-authorization-server'))
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      })
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    response.writeHead(401, { 'www-authenticate': `Bearer ${where}` }).end()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${server.address().port}/mcp` }
}

const configOf = (folder, loginUrl) => {
  const eager = { start: 'eager' }
  const demo = (...args) => ({
    command: process.execPath,
    args: [join(folder, 'server.cjs'), ...args],
    ...eager,
  })
  return JSON.stringify(
    {
      log: { slow: '500ms' },
      mcpServers: {
        github: { ...demo('github'), env: { GITHUB_TOKEN: 'ghp_0123456789abcdefghijklmnopqrstuvwxyz' } },
        files: demo('files'),
        reports: demo('reports', '900'),
        notes: { command: process.execPath, args: [join(folder, 'notes.cjs')], ...eager },
        search: { command: 'search-mcp', args: ['--index', 'docs'], ...eager },
        wiki: {
          url: 'http://127.0.0.1:9/mcp',
          headers: { Authorization: 'Bearer 0123456789abcdef' },
          ...eager,
        },
        tickets: { url: loginUrl, ...eager },
        billing: { command: ['billing-mcp'] },
        crm: { url: 'https://crm.example/mcp', headers: { Authorization: 'Bearer ${CRM_TOKEN}' } },
        archive: { ...demo('files'), disabled: true },
      },
    },
    null,
    2,
  )
}

const client = origin => {
  let session
  let id = 0
  const send = async body => {
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
    session ??= response.headers.get('mcp-session-id')
    return await response.text()
  }
  const ask = (method, params) => send({ id: ++id, method, params })
  const begin = async () => {
    const clientInfo = { name: 'claude-code', version: '2.1.0' }
    await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    await send({ method: 'notifications/initialized' })
  }
  return { begin, call: name => ask('tools/call', { name, arguments: {} }) }
}

const callAround = async origin => {
  const { begin, call } = client(origin)
  await begin()
  const names = ['github__search_issues', 'github__get_issue', 'files__read_file', 'files__list_folder']
  const rounds = Array.from({ length: 14 }, (_, n) => names[n % names.length])
  for (const name of [
    ...rounds,
    'github__delete_branch',
    'github__delete_branch',
    'notes__search',
    'notes__add',
  ])
    await call(name)
  await Promise.all([call('reports__monthly_report'), call('reports__monthly_report')])
  void call('reports__monthly_report').catch(() => undefined)
}

const VIEWS = [
  ...['', 'servers', 'servers/github', 'servers/notes', 'servers/search', 'servers/wiki', 'servers/tickets'],
  ...['servers/billing', 'servers/crm', 'servers/archive', 'tools', 'tools/github__create_issue', 'calls'],
  ...['clients', 'errors', 'limits', 'configuration'],
]
const SCHEMES = ['light', 'dark']

const takeDocs = async page => {
  // Readers have the command; this checkout has it elsewhere.
  await page.evaluate("sessionStorage.command = 'mcp-proxy'; location.hash = '#/servers'")
  await page.setViewportSize({ width: 1040, height: 668 })
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await sleep(600)
    await page.screenshot({ path: join(DOCS, colorScheme === 'dark' ? 'ui-dark.png' : 'ui.png') })
  }
}

const takeAll = async (page, out, views) => {
  await mkdir(out, { recursive: true })
  for (const colorScheme of SCHEMES)
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      for (const view of views) {
        await page.evaluate(`location.hash = '#/${view}'`)
        await sleep(500)
        const name = `${view.replaceAll('/', '-') || 'overview'}-${width}-${colorScheme}.png`
        await page.screenshot({ path: join(out, name), fullPage: true })
      }
    }
}

const main = async (out, ...views) => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-screenshots-'))
  const file = join(folder, 'mcp.json')
  const login = await startLoginServer()
  await writeFile(join(folder, 'server.cjs'), SERVER)
  await writeFile(join(folder, 'notes.cjs'), CRASH)
  await writeFile(file, configOf(folder, login.url))
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder },
    ...{ MCP_PROXY_RUN_DIR: join(folder, 'run'), TZ: process.env.TZ },
  }
  const proxy = spawn(process.execPath, [PROGRAM, 'serve', '--port', '0', '--config', file], {
    env,
    stdio: 'ignore',
  })
  const exited = new Promise(resolve => proxy.once('exit', resolve))
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  })
  try {
    const address = () =>
      run(process.execPath, [PROGRAM, 'ui', '--print', '--json', '--config', file], { env }).then(
        ({ stdout }) => JSON.parse(stdout).url,
        () => undefined,
      )
    let url
    for (let n = 0; n < 50 && url === undefined; n += 1) {
      await sleep(200)
      url = await address()
    }
    await sleep(1500)
    await callAround(new URL(url).origin)
    const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
    await page.goto(await address())
    await page.locator('main h2').waitFor()
    await sleep(700)
    await (out === undefined ? takeDocs(page) : takeAll(page, out, views.length > 0 ? views : VIEWS))
  } finally {
    await browser.close()
    proxy.kill('SIGTERM')
    await exited
    login.server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

await main(...process.argv.slice(2))

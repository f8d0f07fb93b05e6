import t from 'tap'
import { CLIENTS } from '../../src/setup/clients/clients.js'
import { foldersOf } from '../../src/setup/clients/machine.js'
import { runHere, setEnv } from '../support/proxy/start.js'
import { textOf } from '../support/suggestions.js'

const PAGES = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini', 'windsurf']

/** Returns the blocks of code of a page in one language. */
const blocksOf = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  )

/** Replaces the paths of a machine by names, and the layout of lists by one line. */
const withoutPaths = (text: string): string =>
  text
    .replace(/"[^"]*\bnode(?:\.exe)?"/g, '"NODE"')
    .replace(/"[^"]*connect\.cjs"/g, '"CONNECT"')
    .replace(/"[^"]*mcp\.json"/g, '"FILE"')
    .replace(/\s+/g, ' ')

t.test('the pages of clients have the entries that install prints', async t => {
  const home = t.testdir({})
  setEnv(t, { HOME: home, USERPROFILE: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', MCP_PROXY_CONFIG: '' })
  setEnv(t, { MCP_PROXY_RUN_DIR: '', CODEX_HOME: '', CLAUDE_CONFIG_DIR: '' })
  for (const id of PAGES) {
    const page = textOf(`docs/clients/${id}.md`)
    const blocks = blocksOf(page, id === 'codex' ? 'toml' : 'json').map(withoutPaths)
    const stdio = await runHere(t, 'install', id, '--print')
    t.equal(stdio.code, 0, stdio.err)
    t.ok(blocks.includes(withoutPaths(stdio.out.trim())), `${id}: ${withoutPaths(stdio.out.trim())}`)
    const http = await runHere(
      t,
      'install',
      id,
      '--print',
      '--via',
      'http',
      '--url',
      'http://127.0.0.1:8808/mcp',
    )
    if (http.code === 0) t.ok(blocks.includes(withoutPaths(http.out.trim())), `${id}: over HTTP`)
    else t.match(page, '`--via http` is refused', id)
  }
})

t.test('the pages of clients have the files that install writes, and how to check and undo it', async t => {
  for (const id of PAGES) {
    const page = textOf(`docs/clients/${id}.md`)
    const client = CLIENTS.find(each => each.id === id)
    for (const platform of ['linux', 'darwin'] as const) {
      const [file = ''] = client?.user(foldersOf({ platform, home: '~', cwd: '.', env: {} })) ?? []
      t.match(page, `\`${file}\``, `${id} on ${platform}`)
    }
    for (const file of client?.project ?? []) t.match(page, `\`${file}\``)
    for (const heading of ['Steps', 'File', 'Entry', 'Check it', 'Undo', 'Limits'])
      t.match(page, `\n## ${heading}\n`)
    t.match(page, `mcp-proxy install ${id} --undo`)
  }
})

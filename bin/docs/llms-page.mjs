// llms.txt: a map of the documentation for language models, in the format of llmstxt.org.
import { readdir, readFile } from 'node:fs/promises'

const HEAD = `# mcp-proxy

> A long-running proxy that makes many MCP servers look like one. Clients connect once and see the tools, prompts and
> resources of all servers, over stdio, Streamable HTTP, HTTP+SSE and WebSocket, in every revision of the protocol.

The npm package is not published: install from a clone (\`npm ci\`, then \`npm install -g .\`). The npm package called
\`mcp-proxy\` is a different project. Every command has \`--help\`, and every command that prints data has \`--json\`.
Start with \`mcp-proxy init --dry-run\`, \`mcp-proxy check\` and \`mcp-proxy doctor\`: none of them changes anything.`

/** The pages by section, each with its contents. The title of a link is the heading of its page. */
const SECTIONS = {
  'Use it': {
    'README.md': 'purpose, installation, one table of commands, what it is not',
    'docs/start.md': 'a whole run of `init`, sharing with others, troubleshooting by message',
    'docs/cli.md': 'every command with its options, examples and exit codes',
    'docs/doctor.md': 'every numbered problem (D001 and so on) with its cause and fix',
    'docs/daemon.md': 'the process that all clients share: start, idle end, variables, start at login',
  },
  Clients: {
    'docs/clients.md': 'entries for all clients, their file formats, the names of tools, supported features',
    'docs/clients/claude-code.md': 'file, entry, check, undo, limits',
    'docs/clients/claude-desktop.md': 'file, entry, check, undo, limits',
    'docs/clients/cursor.md': 'file, entry, check, undo, limits',
    'docs/clients/vscode.md': 'file, entry, check, undo, limits',
    'docs/clients/codex.md': 'file, entry, check, undo, limits',
    'docs/clients/gemini.md': 'file, entry, check, undo, limits',
    'docs/clients/windsurf.md': 'file, entry, check, undo, limits',
  },
  Configure: {
    'docs/configuration.md': 'every key of the configuration file, authorization, logins at servers',
    'docs/views.md': 'named subsets of servers and tools for some clients',
    'docs/search.md': 'search tools for clients that take few tools',
    'docs/rules.md': 'which calls are allowed, denied, limited, or wait for a person',
    'docs/extensions.md': 'apps, skills, tasks, and HTTP over local sockets',
    'docs/limits.md': 'every bound, its default, and the effect of reaching it',
  },
  Operate: {
    'docs/observability.md': 'status, logs, metrics, traces, the audit log',
    'docs/security.md': 'what the proxy protects, and from whom',
    'docs/networks.md': 'HTTP proxies, certificates, reverse proxies',
    'docs/cluster.md': 'several replicas on Redis',
    'docs/containers.md': 'images, Compose, Kubernetes',
  },
  'Judge it': {
    'docs/evidence.md': 'test results with dates and commands, and everything that was never run',
    'docs/comparison.md': 'other proxies: what each has that this one lacks, and the reverse',
    'docs/performance.md': 'the cost of a call compared with the simplest possible proxy and with others',
  },
  Optional: {
    'docs/embedding.md': 'the API for Node programs',
    'docs/architecture.md': 'layers and the path of a message',
    'docs/glossary.md': 'terms of the code',
    'docs/releasing.md': 'steps of a release',
    'CONTRIBUTING.md': 'commands, conventions, and recipes for changes',
    'SECURITY.md': 'how to report a vulnerability',
    'CHANGELOG.md': 'changes by version',
  },
}

/** Headings of pages outside docs/, which a copy of the sources without them also needs. */
const TITLES = {
  'CONTRIBUTING.md': 'Contributing',
  'SECURITY.md': 'Security policy',
  'CHANGELOG.md': 'Changelog',
}
const UNLISTED = /^docs\/adr\//

/** Returns the paths of all pages of docs/, relative to the root. */
const pagesIn = async root =>
  (await readdir(new URL('docs/', root), { recursive: true }))
    .map(name => `docs/${name.replaceAll('\\', '/')}`)
    .filter(name => name.endsWith('.md') && !UNLISTED.test(name))

const titleOf = async url => /^# (.+)$/m.exec(await readFile(url, 'utf8'))?.[1]

/** Returns llms.txt; throws if a page of docs/ has no line in it. */
export const llmsText = async root => {
  const listed = Object.values(SECTIONS).flatMap(pages => Object.keys(pages))
  const missing = (await pagesIn(root)).filter(page => !listed.includes(page))
  if (missing.length > 0) throw new Error(`bin/docs/llms-page.mjs lacks ${missing.join(', ')}`)
  const parts = [HEAD]
  for (const [section, pages] of Object.entries(SECTIONS)) {
    const lines = []
    for (const [page, note] of Object.entries(pages)) {
      const title = TITLES[page] ?? (await titleOf(new URL(page, root)))
      lines.push(`- [${title}](${page}): ${note}`)
    }
    parts.push(`## ${section}\n\n${lines.join('\n')}`)
  }
  return `${parts.join('\n\n')}\n`
}

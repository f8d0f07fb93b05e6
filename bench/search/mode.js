// Compares search mode with direct tools: the list, calls through it, and its process costs. Reports only;
// never fails.
// Usage: node bench/search/mode.js
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { cpuClock } from '../load/processes.js'
import { endAll, freshFolder, start, writeTemporary } from '../programs.js'
import { median, show } from '../report.js'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const SERVER = here('../servers/stdio.js')
const SERVERS = 10
const BLOCKS = 12
const CALLS = 300
const LISTS = 60
/** Number of fresh proxies whose first list is measured. */
const FRESH = 7
const LIMITS = { tokens: 700, call: 1.15, list: 1.2 }

const agent = new Agent({ keepAlive: true })

/** Posts a message to an endpoint; resolves with the response and its body. */
const post = (url, session, message) =>
  new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    }
    const sent = request(url, { method: 'POST', headers, agent }, response => {
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, text: Buffer.concat(chunks).toString() }))
    })
    sent.on('error', reject).end(JSON.stringify({ jsonrpc: '2.0', ...message }))
  })

const msOf = async act => {
  const began = performance.now()
  await act()
  return performance.now() - began
}

const open = async (url, name) => {
  const clientInfo = { name, version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const { headers } = await post(url, undefined, { id: 0, method: 'initialize', params })
  const session = headers['mcp-session-id']
  await post(url, session, { method: 'notifications/initialized' })
  return session
}

/** Starts proxies for ten servers with this total number of tools and a shared cache. */
const proxyOf = tools => {
  const entry = { command: process.execPath, args: [SERVER], env: { BENCH_TOOLS: String(tools / SERVERS) } }
  const mcpServers = Object.fromEntries(Array.from({ length: SERVERS }, (_, at) => [`s${at}`, entry]))
  const views = { search: { expose: 'search' }, auto: { expose: 'auto' }, direct: { expose: 'direct' } }
  const file = writeTemporary({ mcpServers, views })
  const command = [process.execPath, here('../../bin/mcp-proxy.js'), 'serve', '--port', '0', '--config', file]
  return (state = freshFolder()) =>
    start(command, line => /http:\/\/\S+\/mcp\b/.exec(line)?.[0], { XDG_STATE_HOME: state })
}

const listOf = async (url, session) =>
  JSON.parse(
    (/^(?:data: )?(\{.*)$/m.exec((await post(url, session, { id: 1, method: 'tools/list' })).text) ?? [])[1],
  ).result

const verdict = (value, limit) => (value <= limit ? 'ok' : 'MISSED')

/** Measures how long a fresh proxy takes for its first session and first list. */
const firstOf = async (program, view) => {
  const url = `${program.found}/${view}`
  let session
  const openMs = await msOf(async () => {
    session = await open(url, 'cursor')
  })
  const listMs = await msOf(() => listOf(url, session))
  return { openMs, listMs }
}

const starts = { few: proxyOf(SERVERS), many: proxyOf(10_000) }
const states = { few: freshFolder(), many: freshFolder() }
for (const [view, isKnown] of [
  ['search', false],
  ['search', true],
  ['auto', true],
]) {
  const times = { few: [], many: [] }
  for (let n = 0; n < FRESH; n += 1) {
    for (const [name, begin] of Object.entries(starts)) {
      const program = await begin(isKnown ? states[name] : freshFolder())
      times[name].push(await firstOf(program, view))
      await program.end()
    }
  }
  const [few, many] = Object.values(times).map(all => ({
    openMs: median(all.map(({ openMs }) => openMs)),
    listMs: median(all.map(({ listMs }) => listMs)),
  }))
  const ratio = many.listMs / few.listMs
  console.log(
    `very first tools/list, ${view}, servers ${isKnown ? 'known' : 'never met'}: 10 tools ${show(few.listMs)} ms, ` +
      `10,000 tools ${show(many.listMs)} ms, ratio ${show(ratio)}, limit ${LIMITS.list}: ${verdict(ratio, LIMITS.list)}; ` +
      `before it initialize ${show(few.openMs)} and ${show(many.openMs)} ms`,
  )
  // Fills the cache: a proxy runs until it has stored all server data.
  if (!isKnown) {
    for (const [name, begin] of Object.entries(starts)) {
      const program = await begin(states[name])
      const session = await open(`${program.found}/direct`, 'cursor')
      await listOf(`${program.found}/direct`, session)
      await new Promise(resolve => setTimeout(resolve, 1000))
      await program.end()
    }
  }
}

const few = await starts.few()
const many = await starts.many()
const proxies = { few, many }

for (const view of ['search', 'auto']) {
  const times = { few: [], many: [] }
  for (let n = -1; n < LISTS; n += 1) {
    for (const [name, { found }] of Object.entries(proxies)) {
      const url = `${found}/${view}`
      const session = await open(url, 'cursor')
      const ms = await msOf(() => listOf(url, session))
      if (n >= 0) times[name].push(ms)
    }
  }
  const [ten, all] = [median(times.few), median(times.many)]
  console.log(
    `first tools/list of a session, ${view}: 10 tools ${show(ten)} ms, 10,000 tools ${show(all)} ms, ratio ${show(all / ten)}` +
      (view === 'search' ? `, limit ${LIMITS.list}: ${verdict(all / ten, LIMITS.list)}` : ''),
  )
}

const searching = await open(`${many.found}/search`, 'cursor')
const { tools } = await listOf(`${many.found}/search`, searching)
const tokens = Math.round(tools.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0) / 4)
console.log(
  `list in search mode: ${tokens} tokens, limit ${LIMITS.tokens}: ${verdict(tokens, LIMITS.tokens)}`,
)

const named = { name: 's3__make', arguments: { tag: 't', size: 20, padding: 'x'.repeat(32) } }
const ways = {
  direct: { view: 'direct', params: named },
  through: { view: 'search', params: { name: 'call_write_tool', arguments: named } },
}
for (const [label, { found, pid }] of [
  ['10 tools', few],
  ['10,000 tools', many],
]) {
  const times = { direct: [], through: [] }
  const cpu = { direct: [], through: [] }
  for (let block = -2; block < BLOCKS; block += 1) {
    for (const [way, { view, params }] of Object.entries(ways)) {
      const url = `${found}/${view}`
      const session = await open(url, 'cursor')
      const clock = cpuClock(pid)
      const before = clock()
      for (let n = 0; n < CALLS; n += 1) {
        const ms = await msOf(() => post(url, session, { id: n + 10, method: 'tools/call', params }))
        if (block >= 0) times[way].push(ms)
      }
      if (block >= 0) cpu[way].push(clock() - before)
    }
  }
  const p50 = median(times.through) / median(times.direct)
  const sum = values => values.reduce((all, value) => all + value, 0)
  const used = sum(cpu.through) / sum(cpu.direct)
  console.log(
    `a call through search mode against a direct one, ${label}: p50 ${show(median(times.direct))} and ${show(median(times.through))} ms, ratio ${show(p50)}; CPU ratio ${show(used)}, limit ${LIMITS.call}: ${verdict(used, LIMITS.call)}`,
  )
}
agent.destroy()
await endAll()

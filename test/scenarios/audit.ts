import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { skipWithout, until } from '../support/processes.js'
import { configFile, rawServer, startBin } from '../support/proxy/start.js'

type Line = Readonly<Record<string, unknown>>

const linesOf = (file: string): Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Line)
        .filter(({ audit }) => audit !== 'chain')
    : []

/** A request whose `Host` is not ours; `fetch` cannot be told to send one. */
const askAsStranger = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { host: 'evil.example', origin: 'https://evil.example' }
    request(url, { method: 'POST', headers }, response => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end('{}')
  })

t.test(
  'the audit says who came, called, was asked, was refused, and what was reloaded; it can be moved away',
  { skip: skipWithout.signals },
  async t => {
    const config = configFile(t, { raw: rawServer() }, { audit: 'audit.jsonl' })
    const file = join(config, '..', 'audit.jsonl')
    const proxy = startBin(t, ['serve', '--config', config, '--port', '0'])
    const url = (await proxy.line(/\/mcp$/)).split(' ').at(-1) ?? ''
    const client = new RawClient(url)
    client.onAsk = () => ({ action: 'decline' })
    await client.initialize({ elicitation: {} })
    const params = { message: 'Your password?', requestedSchema: { type: 'object', properties: {} } }
    await client.call(1, 'raw__ask', JSON.stringify({ method: 'elicitation/create', params }))
    await client.request('resources/read', { name: 'harmless', uri: 'raw+file:///secret' })
    t.equal(await askAsStranger(url), 403)
    await until(() => linesOf(file).length >= 5, 'the lines')
    const [{ session } = {} as Line] = linesOf(file)
    const who = { principal: 'local', session }
    t.match(linesOf(file), [
      { audit: 'session', event: 'opened', ...who, client: 'raw 1', revision: '2025-11-25' },
      { audit: 'question', ...who, server: 'raw', method: 'elicitation/create', outcome: 'decline' },
      { audit: 'call', ...who, method: 'tools/call', name: 'raw__ask', server: 'raw', outcome: 'ok' },
      { audit: 'call', ...who, method: 'resources/read', name: 'raw+file:///secret' },
      { audit: 'refused', address: '127.0.0.1', status: 403, path: '/mcp', host: 'evil.example' },
    ])
    t.notMatch(readFileSync(file, 'utf8'), /password\?|harmless/)

    renameSync(file, `${file}.1`)
    proxy.child.kill('SIGHUP')
    await until(() => existsSync(file), 'the new file')
    // At once, as it might be read half written.
    writeFileSync(
      `${config}.new`,
      JSON.stringify({ mcpServers: { raw: rawServer(), more: rawServer() }, audit: 'audit.jsonl' }),
    )
    renameSync(`${config}.new`, config)
    await until(() => linesOf(file).length >= 1, 'the reload')
    writeFileSync(config, '{')
    await until(() => linesOf(file).length >= 2, 'the refusal')
    await client.end()
    await until(() => linesOf(file).length >= 3, 'the end')
    t.match(linesOf(file), [
      { audit: 'reload', result: 'ok', added: ['more'] },
      { audit: 'reload', result: 'refused', problems: [String] },
      { audit: 'session', event: 'closed', ...who, durationMs: Number },
    ])
    t.equal(linesOf(`${file}.1`).length, 5, 'nothing more is written to the old one')
  },
)

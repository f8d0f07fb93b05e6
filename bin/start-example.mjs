#!/usr/bin/env node
// `npm start`: runs the example configuration, with its remote server for as long as the proxy runs.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const server = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'
const config = 'mcp-proxy.example.json'
// The child ends with its stdin, so it also ends if we are killed; Ctrl-C reaches it only through us.
const END_WITH_PARENT =
  'data:text/javascript,process.stdin.on("end",()=>process.exit()).on("error",()=>process.exit()).resume()'
const READY_LIMIT_MS = 10_000

const say = words => process.stderr.write(`${words}\n`)

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const startRemote = port => {
  const child = spawn(process.execPath, ['--import', END_WITH_PARENT, server, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['pipe', 'ignore', 'pipe'],
    // Shields the child from Ctrl-C: it gets its own session or, on Windows, a hidden console.
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
  child.stdin.on('error', () => undefined)
  const ready = new Promise(resolve => {
    const timer = setTimeout(resolve, READY_LIMIT_MS)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    child.stderr.on('data', chunk => {
      if (String(chunk).includes('listening')) done()
    })
    child.once('exit', done)
    child.once('error', done)
  })
  return { child, ready }
}

const main = new URL('../dist/cli/main.cjs', import.meta.url)
process.chdir(root)
if (!existsSync(main) || !existsSync(server)) {
  say('The example is not ready: run `npm install` and `npm run build` in its folder')
  process.exit(4)
}
const port = process.env.EVERYTHING_PORT ?? String(await freePort())
say(`Starting an example server over HTTP on port ${port}, and the proxy with ${config} …`)
const { child, ready } = startRemote(port)
process.on('exit', () => child.kill('SIGKILL'))
await ready
if (child.exitCode !== null) say('The example server over HTTP did not start; the others will do.')
process.env.EVERYTHING_PORT = port

const { main: run } = await import(main.href)
const argv = process.argv.slice(2)
const code = run(['serve', '--config', config, ...argv])
const base = argv.some(word => /^--(port|host)/.test(word)) ? 'http://HOST:PORT' : 'http://127.0.0.1:8808'
say(`Four servers behind one address. Once it listens (its URL stands below), try:
  curl -s ${base}/healthz
  curl -s ${base}/mcp -H 'content-type: application/json' \\
    -H 'accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
      "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
  node bin/mcp-proxy.js call everything__echo message=hello --config ${config}
Ctrl-C ends all of it.`)
process.exit(await code)

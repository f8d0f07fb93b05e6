import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { placeId, placeOf, type RuntimePaths, thisPlace } from '../../../src/shim/place.js'
import type { Loose } from '../client/raw-client.js'
import { isRunning, until } from '../processes.js'
import { BIN, configFile } from './start.js'

/** A server whose tool returns its process after a delay. */
export const WAITING = fileURLToPath(new URL('../../fixtures/waiting-server.mjs', import.meta.url))

/** Entries of `mcpServers`. */
export const waiting = (more: object = {}) => ({
  w: { command: process.execPath, args: [WAITING], sharing: 'all', ...more },
})

/** Returns the place of a configuration's daemon. */
export const placeFor = (file: string, env = process.env): RuntimePaths =>
  placeOf(placeId(file, thisPlace()), env)

/** Writes a configuration whose daemon ends with the test. */
export const configured = (t: Test, servers: object = waiting(), more: object = {}): string => {
  const file = configFile(t, servers, more)
  t.teardown(async () => {
    const { socket } = placeFor(file)
    for (let tries = 0; tries < 3; tries++) {
      const pid = await pidAt(socket)
      if (pid === undefined) return
      process.kill(pid, 'SIGTERM')
      await until(() => !isRunning(pid), 'the end of the daemon')
    }
  })
  return file
}

/** Sends a request to a proxy's private socket; undefined without a listener. */
export const asked = (socketPath: string, path: string, method = 'GET', sentBody = '') =>
  new Promise<{ status: number; body: Loose } | undefined>(done => {
    const sent = request({ socketPath, path, method }, response => {
      let text = ''
      response.on('data', chunk => {
        text += String(chunk)
      })
      response.on('end', () => done({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
    })
    sent.on('error', () => done(undefined))
    sent.end(sentBody)
  })

/** Returns the id of the process that answers there. */
export const pidAt = async (socket: string): Promise<number | undefined> =>
  (await asked(socket, '/v1/status'))?.body.pid

/** Returns the shim of a copy of this package with another version. */
export const installed = (t: Test, version: string): string => {
  const root = resolve(BIN, '../..')
  const folder = join(t.testdirName, version)
  mkdirSync(folder, { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  for (const part of ['bin', 'config', 'dist'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  const manifest: object = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }))
  return join(folder, 'bin/connect.cjs')
}

/** Replaces an `installed` build with another one, whose parts have other names. */
export const reinstall = (shim: string): void => {
  const dist = resolve(shim, '../../dist')
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!/\.c?js$/.test(name)) continue
    const text = readFileSync(join(dist, name), 'utf8')
    writeFileSync(join(dist, name), text.replaceAll('part-', 'piece-'))
    if (name.startsWith('part-')) renameSync(join(dist, name), join(dist, name.replace('part-', 'piece-')))
  }
}

// Compares replicas with one process without a cluster: at the session's own replica, and at another replica
// that forwards everything. Needs redis-server.
import { randomBytes } from 'node:crypto'
import { freePort, start } from './programs.js'

const KEY = randomBytes(32).toString('base64')

let engine
const engineUrl = () => {
  engine ??= freePort().then(async port => {
    const command = ['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', '']
    await start(command, line => (line.includes('Ready to accept connections') ? port : undefined))
    return `redis://127.0.0.1:${port}`
  })
  return engine
}

/** Returns the cluster section of a replica's configuration. */
const clusterIn = async () => ({
  cluster: { url: await engineUrl(), keys: [KEY], peer: { listen: '127.0.0.1:0' }, linger: '0s' },
})

/**
 * Starts replicas. Clients initialize at the first and continue at the last, so with two replicas every
 * request is forwarded.
 */
export const replicas = async (count, serve) => {
  const cluster = await clusterIn()
  const all = []
  // Sequential, so that the first replica knows the last as soon as it runs.
  for (let n = 0; n < count; n += 1) all.push(await serve(cluster))
  return {
    ...all.at(-1),
    first: all[0].url,
    pid: all.map(({ pid }) => pid),
    ending: () => all.map(one => one.ending()).find(ending => ending !== undefined),
    end: () => Promise.all(all.map(one => one.end())),
  }
}

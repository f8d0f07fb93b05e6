// What several replicas cost, against one process without a cluster: at the replica that has the session, and
// at two of which one passes everything on to the other. Needs redis-server.
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

/** What a replica's configuration says of the others. */
const clusterIn = async () => ({
  cluster: { url: await engineUrl(), keys: [KEY], peer: { listen: '127.0.0.1:0' }, linger: '0s' },
})

/** Its clients begin at the first replica and go on at the last: with two, all they say is passed on. */
export const replicas = async (count, serve) => {
  const cluster = await clusterIn()
  const all = []
  // One after the other, so that the first knows of the last as soon as that is there.
  for (let n = 0; n < count; n += 1) all.push(await serve(cluster))
  return {
    ...all.at(-1),
    first: all[0].url,
    pid: all.map(({ pid }) => pid),
    ending: () => all.map(one => one.ending()).find(ending => ending !== undefined),
    end: () => Promise.all(all.map(one => one.end())),
  }
}

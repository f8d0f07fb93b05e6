import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../fixtures/redis.mjs'
import { startTcpProxy } from '../fixtures/tcp-proxy.mjs'
import { Daemon } from './daemon.js'

/** A configuration by which proxies are replicas of one, with these servers. */
export const replicaConfig = ({ url }, mcpServers) => ({
  mcpServers,
  cluster: { url, keys: [randomBytes(32).toString('base64')], peer: { listen: '127.0.0.1:0' } },
  limits: { sessionsPerPrincipal: 10_000 },
})

/** `how`: another program, and variables for it. */
export const startReplica = async (config, how) => {
  const daemon = new Daemon()
  await daemon.start(config, how)
  return daemon
}

/** The same with its `ways`: what is between it and the engine, and between the others and it. */
export const startApart = async (config, how) => {
  const port = Number(await freePort())
  const url = new URL(config.cluster.url)
  const ways = { engine: await startTcpProxy(Number(url.port)), peer: await startTcpProxy(port) }
  const cluster = {
    ...config.cluster,
    url: `redis://127.0.0.1:${ways.engine.port}`,
    peer: { listen: `127.0.0.1:${port}`, advertise: `127.0.0.1:${ways.peer.port}` },
  }
  return Object.assign(await startReplica({ ...config, cluster }, how), { ways })
}

export const clusterOf = async daemon => (await daemon.status()).cluster

/** So many that know each other, each made by `start` with its number. */
export const startReplicas = async (count, config, start = () => startReplica(config)) => {
  const all = await Promise.all(Array.from({ length: count }, (_, n) => start(n)))
  for (const one of all) while ((await clusterOf(one)).members.length !== count) await delay(100)
  return all
}

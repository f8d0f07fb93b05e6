import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Daemon } from './daemon.js'

/** A configuration by which proxies are replicas of one, with these servers. */
export const replicaConfig = ({ url }, mcpServers) => ({
  mcpServers,
  cluster: { url, keys: [randomBytes(32).toString('base64')], peer: { listen: '127.0.0.1:0' } },
  limits: { sessionsPerPrincipal: 10_000 },
})

export const startReplica = async config => {
  const daemon = new Daemon()
  await daemon.start(config)
  return daemon
}

export const clusterOf = async daemon => (await daemon.status()).cluster

/** So many that know each other. */
export const startReplicas = async (count, config) => {
  const all = await Promise.all(Array.from({ length: count }, () => startReplica(config)))
  for (const one of all) while ((await clusterOf(one)).members.length !== count) await delay(100)
  return all
}

import { type ClusterReport, checkCluster } from '../../cluster/check.js'
import { configDigest } from '../../config/digest.js'
import { ONE_PRINCIPAL } from '../../config/read/cluster.js'
import type { ClusterConfig, ProxyConfig } from '../../config/types.js'
import { systemClock } from '../../kernel/async/clock.js'
import { createHttpClient } from '../../transport/http/client.js'
import { CONNECT_MS, readTls } from './join.js'

export type { ClusterReport } from '../../cluster/check.js'

/** Checks the requirements of replicas without joining the cluster. Rejects with a Fault `unavailable`. */
export const checkConfigured = async (
  { url, prefix, keys, peer }: ClusterConfig,
  config: ProxyConfig,
): Promise<ClusterReport> => {
  const tls = peer.tls && (await readTls(peer.tls))
  const report = await checkCluster({
    ...{ url, prefix, keys, clock: systemClock, wallMs: Date.now, digest: configDigest(config) },
    http: createHttpClient({ connectTimeoutMs: CONNECT_MS, tls }),
    scheme: tls === undefined ? 'http' : 'https',
  })
  if (config.auth !== undefined) return report
  return { ...report, findings: [...report.findings, { level: 'warn', subject: 'auth', ...ONE_PRINCIPAL }] }
}

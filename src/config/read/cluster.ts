import { resolve } from 'node:path'
import { isWildcardHost } from '../../kernel/loopback.js'
import { syntaxValueOf } from '../file/syntax.js'
import { itemAt, members, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { NO_FOREIGN_KEYS, warnUnknown } from '../schema/keys.js'
import { type ClusterValues, validateCluster } from '../schema/validate.js'
import type { ClusterConfig } from '../types.js'
import { type Address, readAddress } from './address.js'
import { type ReadContext, reportMisfits } from './entry.js'
import { readConfigKeys } from './keys.js'
import { readPlain } from './plain.js'
import { expandedPath, expandedWhole } from './variables.js'

/** A warning for replicas without `auth`, which cannot distinguish their users. */
export const ONE_PRINCIPAL = {
  message: 'without "auth", all clients are one principal: they share connections, logins and limits',
  fix: 'Add "auth" (docs/configuration.md), unless all clients belong to one user.',
} as const

/**
 * Reads `cluster`; undefined if it is absent. Any error makes all of it invalid, because a replica outside
 * the cluster would lose the sessions of the others.
 */
export const readCluster = (
  items: ReadonlyMap<string, TreeItem>,
  context: ReadContext,
): ClusterConfig | undefined | 'invalid' => {
  const item = items.get('cluster')
  if (item === undefined) return undefined
  const { report } = context
  const { errors } = report
  const values = checked(item, context)
  const read = values && readChecked(item, values, context)
  return read === undefined || report.errors > errors ? 'invalid' : read
}

const checked = (item: TreeItem, { report }: ReadContext): ClusterValues | undefined => {
  const found = members(item)
  warnUnknown(found, KEYS.cluster, NO_FOREIGN_KEYS, report)
  const [peer, tls] = [found.get('peer'), members(found.get('peer')).get('tls')]
  if (peer !== undefined) warnUnknown(members(peer), KEYS.clusterPeer, NO_FOREIGN_KEYS, report)
  if (tls !== undefined) warnUnknown(members(tls), KEYS.clusterTls, NO_FOREIGN_KEYS, report)
  const result = validateCluster(syntaxValueOf(item))
  if (result.is === 'fine') return result.value
  const misfits = result.misfits.map(misfit => ({ ...misfit, path: ['cluster', ...misfit.path] }))
  reportMisfits(misfits, new Map([['cluster', item]]), report)
  return undefined
}

const readChecked = (
  item: TreeItem,
  values: ClusterValues,
  context: ReadContext,
): ClusterConfig | undefined => {
  const keys = readConfigKeys(item, values.keys, context)
  if (values.keys.length === 0) {
    context.report.error(itemAt(item, ['keys']), {
      message: 'the replicas need a key in common',
      fix: 'Write ["${CLUSTER_KEY}"], and set that variable to the output of `openssl rand -base64 32`.',
    })
  }
  const url = readUrl(itemAt(item, ['url']), context)
  const peer = readPeer(item, values.peer, context)
  if (url === undefined || peer === undefined) return undefined
  return {
    ...readPlain('cluster', { items: members(item), values, report: context.report }),
    ...{ url, keys, peer },
  }
}

const readUrl = (item: TreeItem, context: ReadContext): string | undefined => {
  const { errors } = context.report
  const text = expandedWhole(String(item.node.value), item, context).trim()
  if (context.report.errors > errors) return undefined
  if (/^rediss?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) return text
  if (/^redis\+\w+:/.test(text))
    context.report.error(item, {
      message: 'Redis Cluster and Sentinel are not supported',
      fix: 'Write the "redis://HOST:PORT" of one primary, or of a proxy that always forwards to it.',
    })
  else
    context.report.error(item, {
      message: 'this is not the address of a Redis or Valkey',
      fix: 'Write "redis://HOST:PORT", or "rediss://HOST:PORT" with TLS.',
    })
  return undefined
}

const readPeer = (
  cluster: TreeItem,
  values: ClusterValues['peer'],
  context: ReadContext,
): ClusterConfig['peer'] | undefined => {
  const at = (key: string): TreeItem => itemAt(cluster, ['peer', key])
  const address = (key: 'listen' | 'advertise', example: string): Address | undefined => {
    const { errors } = context.report
    const text = expandedWhole(String(at(key).node.value), at(key), context).trim()
    const fix = `Write both, such as "${example}".`
    return context.report.errors > errors ? undefined : readAddress(text, at(key), { context, fix })
  }
  const listen = address('listen', '0.0.0.0:8809')
  const advertise = values.advertise === undefined ? undefined : address('advertise', '10.0.0.7:8809')
  if (listen !== undefined && isWildcardHost(listen.host) && values.advertise === undefined) {
    context.report.error(at('listen'), {
      message: 'the other replicas cannot connect to a wildcard address',
      fix: 'Add "advertise" with the address of this replica, such as "${POD_IP}:8809".',
    })
  }
  if (listen === undefined) return undefined
  const file = (key: string): string =>
    resolve(context.folder, expandedPath(itemAt(cluster, ['peer', 'tls', key]), context))
  const tls = values.tls && { cert: file('cert'), key: file('key'), ca: file('ca') }
  return { listen, advertise, tls }
}

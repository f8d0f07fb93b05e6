import type { VerbGroup } from '../../verb.js'
import { check } from './check.js'

export const cluster: VerbGroup = {
  usage: 'cluster',
  describe: 'Several replicas of serve that are one proxy',
  verbs: [check],
}

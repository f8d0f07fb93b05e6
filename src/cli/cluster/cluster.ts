import type { VerbGroup } from '../shared/verb.js'
import { check } from './check.js'

export const cluster: VerbGroup = {
  usage: 'cluster',
  describe: 'Run several replicas of serve as one proxy',
  verbs: [check],
}

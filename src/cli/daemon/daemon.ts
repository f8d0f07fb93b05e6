import type { VerbGroup } from '../shared/verb.js'
import { logs, status } from './inspect.js'
import { restart, start, stop } from './run.js'

export const daemon: VerbGroup = {
  usage: 'daemon',
  describe: 'The proxy that all clients of a configuration share',
  verbs: [start, stop, restart, status, logs],
}

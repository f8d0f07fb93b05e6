import type { VerbGroup } from '../shared/verb.js'
import { test } from './test.js'

export const rules: VerbGroup = {
  usage: 'rules',
  describe: 'Test the rules over calls',
  verbs: [test],
}

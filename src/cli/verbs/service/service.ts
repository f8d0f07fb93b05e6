import type { VerbGroup } from '../../verb.js'
import { status } from './look.js'
import { install, printFile, uninstall } from './manage.js'

export const service: VerbGroup = {
  usage: 'service',
  describe: 'Have the system start the proxy at login, and keep it running',
  verbs: [install, uninstall, status, printFile],
}

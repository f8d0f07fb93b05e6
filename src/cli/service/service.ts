import type { VerbGroup } from '../shared/verb.js'
import { install, printFile, uninstall } from './manage.js'
import { status } from './status.js'

export const service: VerbGroup = {
  usage: 'service',
  describe: 'Manage the service that starts the proxy at login and keeps it running',
  verbs: [install, uninstall, status, printFile],
}

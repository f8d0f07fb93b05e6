import type { VerbGroup } from '../shared/verb.js'
import { approve } from './approve.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { status } from './status.js'
import { token } from './token.js'

export const auth: VerbGroup = {
  usage: 'auth',
  describe: 'Manage logins at servers and access tokens',
  verbs: [login, logout, status, token, approve],
}

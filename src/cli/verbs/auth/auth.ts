import type { VerbGroup } from '../../verb.js'
import { approve } from './approve.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { status } from './status.js'
import { token } from './token.js'

export const auth: VerbGroup = {
  usage: 'auth',
  describe: 'Logins at servers, and who may come in',
  verbs: [login, logout, status, token, approve],
}

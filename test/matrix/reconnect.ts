import t from 'tap'
import { runMatrix } from '../support/matrix.js'
import { reconnect } from './flows/reconnect.js'

runMatrix(t, [reconnect], { isAboutRevisions: false })

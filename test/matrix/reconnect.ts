import t from 'tap'
import { reconnect } from './flows/reconnect.js'
import { runMatrix, TRANSPORT_PAIRS } from './flows/rig.js'

runMatrix(t, [reconnect], TRANSPORT_PAIRS)

import t from 'tap'
import { runMatrix, TRANSPORT_PAIRS } from '../support/matrix.js'
import { reconnect } from './flows/reconnect.js'

runMatrix(t, [reconnect], TRANSPORT_PAIRS)

import t from 'tap'
import { ERA_PAIRS, runMatrix } from '../support/matrix.js'
import { FLOWS } from '../support/matrix-flows.js'
import { reconnect } from './flows/reconnect.js'

runMatrix(t, [...FLOWS, reconnect], ERA_PAIRS)

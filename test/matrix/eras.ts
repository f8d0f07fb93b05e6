import t from 'tap'
import { FLOWS } from './flows/index.js'
import { reconnect } from './flows/reconnect.js'
import { ERA_PAIRS, runMatrix } from './flows/rig.js'

runMatrix(t, [...FLOWS, reconnect], ERA_PAIRS)

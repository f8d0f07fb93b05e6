import t from 'tap'
import { FLOWS } from './flows/index.js'
import { REVISION_PAIRS, runMatrix, TRANSPORT_PAIRS } from './flows/rig.js'

runMatrix(t, FLOWS, [...TRANSPORT_PAIRS, ...REVISION_PAIRS])

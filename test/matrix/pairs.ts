import t from 'tap'
import { REVISION_PAIRS, runMatrix, TRANSPORT_PAIRS } from '../support/matrix.js'
import { FLOWS } from '../support/matrix-flows.js'

runMatrix(t, FLOWS, [...TRANSPORT_PAIRS, ...REVISION_PAIRS])

import t from 'tap'
import { runMatrix } from '../support/matrix.js'
import { CALL_FLOWS } from '../support/matrix-calls.js'
import { SESSION_FLOWS } from '../support/matrix-session.js'

// Starting the peers of a pair takes longer than all flows together, so one start serves them all.
runMatrix(t, { ...SESSION_FLOWS, ...CALL_FLOWS })

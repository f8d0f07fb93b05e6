import t from 'tap'
import { type Flow, runMatrix } from '../support/matrix.js'
import { call } from './flows/call.js'
import { cancel } from './flows/cancel.js'
import { completion } from './flows/completion.js'
import { elicitation } from './flows/elicitation.js'
import { error } from './flows/error.js'
import { initialise } from './flows/initialise.js'
import { largeArgument } from './flows/large-argument.js'
import { largeResult } from './flows/large-result.js'
import { listChanged } from './flows/list-changed.js'
import { lists } from './flows/lists.js'
import { logLevel } from './flows/log-level.js'
import { progress } from './flows/progress.js'
import { roots } from './flows/roots.js'
import { sampling } from './flows/sampling.js'
import { subscribe } from './flows/subscribe.js'
import { unsubscribe } from './flows/unsubscribe.js'

/** What makes a session: its handshake, its lists, and what the server says by itself. */
const SESSION: readonly Flow[] = [initialise, lists, listChanged, subscribe, unsubscribe, logLevel]

/** What is called, what is said and asked meanwhile, and how it ends. */
const CALLS: readonly Flow[] = [
  call,
  completion,
  progress,
  cancel,
  sampling,
  elicitation,
  roots,
  error,
  largeResult,
  largeArgument,
]

// Starting the peers of a pair takes longer than all flows together, so one start serves them all.
runMatrix(t, [...SESSION, ...CALLS])

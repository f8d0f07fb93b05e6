import { call } from '../matrix/flows/call.js'
import { cancel } from '../matrix/flows/cancel.js'
import { completion } from '../matrix/flows/completion.js'
import { elicitation } from '../matrix/flows/elicitation.js'
import { error } from '../matrix/flows/error.js'
import { initialise } from '../matrix/flows/initialise.js'
import { largeArgument } from '../matrix/flows/large-argument.js'
import { largeResult } from '../matrix/flows/large-result.js'
import { listChanged } from '../matrix/flows/list-changed.js'
import { lists } from '../matrix/flows/lists.js'
import { logLevel } from '../matrix/flows/log-level.js'
import { progress } from '../matrix/flows/progress.js'
import { roots } from '../matrix/flows/roots.js'
import { sampling } from '../matrix/flows/sampling.js'
import { subscribe } from '../matrix/flows/subscribe.js'
import { unsubscribe } from '../matrix/flows/unsubscribe.js'
import type { Flow } from './matrix.js'

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

/** Starting the peers of a pair takes longer than all flows together, so one start serves them all. */
export const FLOWS: readonly Flow[] = [...SESSION, ...CALLS]

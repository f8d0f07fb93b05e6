import { call, cancel, completion, error, largeArgument, largeResult, progress } from './calls.js'
import { elicitation, roots, sampling } from './questions.js'
import type { Flow } from './rig.js'
import { initialise, listChanged, lists, logLevel, subscribe, unsubscribe } from './session.js'

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

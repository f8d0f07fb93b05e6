import { randomInt } from 'node:crypto'
import type { FaultCode } from './faults.js'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const RUN_LENGTH = 4

/** An error that was given an id. */
export interface ReportedError {
  readonly id: string
  /** The JSON-RPC code. */
  readonly code: number
  readonly message: string
  /** Undefined if the error was not encoded from a Fault. */
  readonly fault: FaultCode | undefined
}

/** The common prefix of all error ids of this process. */
export const RUN = Array.from({ length: RUN_LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join(
  '',
)

const ID = new RegExp(`^[a-z0-9]{${RUN_LENGTH}}-[a-z0-9]{1,10}$`)

/** Returns whether a text has the form of an error id, of this or another process. */
export const isErrorId = (text: string): boolean => ID.test(text)

// One sequence for the whole process, like the list of secrets to mask: every encoder takes the next id.
const listeners = new Set<(error: ReportedError) => void>()
let last = 0

/** Assigns an id to an error that is about to be sent to a client, by which the client can look it up. */
export const newErrorId = (code: number, message: string, fault?: FaultCode): string => {
  last += 1
  const id = `${RUN}-${last.toString(36)}`
  for (const listener of listeners) listener({ id, code, message, fault })
  return id
}

/** Calls `listener` for every error that gets an id, until the returned function is called. */
export const onErrorReported = (listener: (error: ReportedError) => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

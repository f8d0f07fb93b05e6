import { randomInt } from 'node:crypto'
import type { FaultCode } from './faults.js'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const RUN_LENGTH = 4

/** What an id was given to, before anybody knows more of it. */
export interface ReportedError {
  readonly id: string
  /** Of JSON-RPC. */
  readonly code: number
  readonly message: string
  /** Undefined where no fault of ours was encoded. */
  readonly fault: FaultCode | undefined
}

/** The first part of all ids of this process. */
export const RUN = Array.from({ length: RUN_LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join(
  '',
)

const ID = new RegExp(`^[a-z0-9]{${RUN_LENGTH}}-[a-z0-9]{1,10}$`)

/** Whether a text has the form of an error id, of whatever run. */
export const isErrorId = (text: string): boolean => ID.test(text)

// Like the secrets to mask, ids are one list for the whole process: whoever encodes an error takes the next.
const hearers = new Set<(told: ReportedError) => void>()
let last = 0

/** Gives an error that a client is about to read the id by which it can be asked about. */
export const newErrorId = (code: number, message: string, fault?: FaultCode): string => {
  last += 1
  const id = `${RUN}-${last.toString(36)}`
  for (const hear of hearers) hear({ id, code, message, fault })
  return id
}

/** Hears of every error that gets an id, until what is returned is called. */
export const onErrorReported = (hear: (told: ReportedError) => void): (() => void) => {
  hearers.add(hear)
  return () => hearers.delete(hear)
}

import {
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  textOf,
  valueOf,
  withAt,
  withMember,
} from '../kernel/json/text.js'
import { RPC_CODES } from '../model/fault-table.js'

// A server's error is edited as text, like everything else that crosses: what we do not have to change stays as it came.

/** The code of a JSON-RPC error; undefined if it has none, or one that is no integer. */
export const errorCodeOf = (error: JsonText): number | undefined => {
  const code = memberOf(error, 'code')
  const number = code === undefined ? undefined : valueOf(code)
  return Number.isInteger(number) ? Number(number) : undefined
}

/** The error under another code. */
export const withErrorCode = (error: JsonText, code: number): JsonText =>
  withMember(error, 'code', textOf(code))

/** The error with one more member of `data`; data that is no object moves to `data.data`. */
export const withErrorData = (error: JsonText, key: string, value: JsonText): JsonText => {
  const data = memberOf(error, 'data')
  if (data === undefined || kindOf(data) === 'object' || kindOf(data) === 'null') {
    return withAt(error, ['data', key], value)
  }
  return withMember(
    error,
    'data',
    objectText([
      [key, value],
      ['data', data],
    ]),
  )
}

/** An error whose code must not be passed on; programs find it in `data.code`. */
export const asInternalError = (error: JsonText, code: number): JsonText =>
  withErrorCode(withErrorData(error, 'code', textOf(code)), RPC_CODES.internal)

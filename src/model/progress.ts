import { JsonCursor } from '../kernel/json/cursor.js'
import { OPEN_OBJECT } from '../kernel/json/scan.js'
import { type JsonText, numberAt } from '../kernel/json/text.js'

/** A progress notification's params (basic/utilities/progress), searched once for all who need a part. */
export class Progress {
  readonly params: JsonText
  /** How far it is; undefined if that is no number. */
  readonly value: number | undefined
  /** Where in `params` the token stands; both are 0 if there is none. */
  readonly tokenStart: number
  readonly tokenEnd: number

  constructor(params: JsonText) {
    this.params = params
    let value: number | undefined
    let hasValue = false
    let tokenStart = 0
    let tokenEnd = 0
    const at = new JsonCursor(params, OPEN_OBJECT)
    while (at.next()) {
      if (tokenEnd === 0 && at.keyIs('progressToken')) {
        tokenStart = at.valueStart
        tokenEnd = at.end
      } else if (!hasValue && at.keyIs('progress')) {
        value = numberAt(params, at.valueStart, at.end)
        hasValue = true
      }
    }
    this.value = value
    this.tokenStart = tokenStart
    this.tokenEnd = tokenEnd
  }
}

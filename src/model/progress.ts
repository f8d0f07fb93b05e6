import { JsonCursor } from '../kernel/json/cursor.js'
import { OPEN_OBJECT } from '../kernel/json/scan.js'
import { type JsonText, numberAt } from '../kernel/json/text.js'

/** The text around the progress token, one character per byte (latin1). */
interface Found {
  readonly prefix: string
  readonly token: string
  readonly suffix: string
  readonly value: number | undefined
}

/** The params of a progress notification (basic/utilities/progress), searched once for all readers. */
export class Progress {
  readonly params: JsonText
  /** The progress value; undefined if it is not a number. */
  readonly value: number | undefined
  /** The position of the token in `params`; both are 0 if there is none. */
  readonly tokenStart: number
  readonly tokenEnd: number
  /** The text around the token, if already known. */
  readonly found: Pick<Found, 'prefix' | 'suffix'> | undefined

  /** `found` saves the search. */
  constructor(params: JsonText, found?: Found) {
    this.params = params
    this.found = found
    const { value, tokenStart, tokenEnd } = found === undefined ? searched(params) : placed(found)
    this.value = value
    this.tokenStart = tokenStart
    this.tokenEnd = tokenEnd
  }
}

type Places = Pick<Progress, 'value' | 'tokenStart' | 'tokenEnd'>

const placed = ({ prefix, token, value }: Found): Places => ({
  value,
  tokenStart: prefix.length,
  tokenEnd: prefix.length + token.length,
})

function searched(params: JsonText): Places {
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
  return { value, tokenStart, tokenEnd }
}

import { isObject } from '../../kernel/object.js'
import { maskShapes } from '../../kernel/secrets/mask.js'
import type { Json } from '../edit/change.js'
import { isOwn, type OwnMarks } from '../import/identity.js'
import { normalise } from '../import/normalise.js'
import { redacted } from '../import/secrets.js'

const DIALECT = { timeoutUnit: 'ms', hasShellVariables: false } as const

/** Returns whether a client's entry starts or addresses this proxy. */
export const isOurs = (entry: Json | undefined, own: OwnMarks): boolean =>
  isObject(entry) && isOwn(normalise(entry, DIALECT).entry, own)

/** Formats an entry as one line without secrets; variables stay as the client writes them. */
export const shownChange = (entry: Json, own: OwnMarks): string => {
  if (isOurs(entry, own) || !isObject(entry)) return JSON.stringify(isObject(entry) ? entry : null)
  const { entry: plain, envFile } = normalise(entry, { ...DIALECT, keepsVariables: true })
  const text = JSON.stringify({ ...redacted(plain), ...(envFile === undefined ? {} : { envFile }) })
  return shortLine(maskShapes(text))
}

/** Maximum characters; longer text would hide the changes on a screen. */
const TEXT_MAX = 160
const LINE_MAX = 1600

/** Requires masked JSON: half a secret is not recognisable. */
const shortLine = (text: string): string => {
  if (text.length <= TEXT_MAX) return text
  const shortText = (_name: string, value: unknown): unknown =>
    typeof value === 'string' ? short(value, TEXT_MAX) : value
  try {
    return short(JSON.stringify(JSON.parse(text), shortText), LINE_MAX)
  } catch {
    return short(text, LINE_MAX)
  }
}

const short = (text: string, max: number): string => {
  if (text.length <= max) return text
  const half = max / 2
  return `${text.slice(0, half)} … [${text.length - max} characters] … ${text.slice(-half)}`
}

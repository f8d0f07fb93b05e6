import { Fault, type FaultCode } from '../../kernel/faults.js'
import { type JsonText, memberOf, textMember } from '../../kernel/json/text.js'
import type { ClientCapabilities } from '../../model/peer.js'

interface Question {
  readonly method: string
  readonly params: JsonText | undefined
}

/** The capability that a server request needs, and the error for a client without it. */
interface Needed {
  readonly isIn: (capabilities: ClientCapabilities) => boolean
  readonly code: FaultCode
  readonly words: string
}

const needed = (isIn: Needed['isIn'], code: FaultCode, words: string): Needed => ({ isIn, code, words })

const ROOTS = needed(({ roots }) => roots !== undefined, 'unknown-method', 'Roots not supported')
const SAMPLING = needed(({ sampling }) => sampling !== undefined, 'unknown-method', 'Sampling not supported')
const SAMPLING_TOOLS = needed(
  ({ sampling }) => sampling?.tools === true,
  'invalid-params',
  'Sampling with tools not supported',
)
const FORM = needed(
  ({ elicitation }) => elicitation?.form === true,
  'unknown-method',
  'Elicitation not supported',
)
const URL = needed(
  ({ elicitation }) => elicitation?.url === true,
  'invalid-params',
  'Elicitation mode not supported: url',
)
const NO_QUESTION = needed(() => false, 'unknown-method', 'Method not found')

const neededFor = ({ method, params }: Question): Needed => {
  const has = (key: string): boolean => params !== undefined && memberOf(params, key) !== undefined
  switch (method) {
    case 'roots/list':
      return ROOTS
    case 'sampling/createMessage':
      return has('tools') || has('toolChoice') ? SAMPLING_TOOLS : SAMPLING
    case 'elicitation/create':
      return params !== undefined && textMember(params, 'mode') === 'url' ? URL : FORM
    default:
      return NO_QUESTION
  }
}

/** Returns whether the proxy knows a server request. */
export const isKnownQuestion = (method: string): boolean =>
  neededFor({ method, params: undefined }) !== NO_QUESTION

/** Returns whether the client declared the capability for a server request. */
export const canBeAsked = (question: Question, capabilities: ClientCapabilities): boolean =>
  neededFor(question).isIn(capabilities)

/**
 * Returns the error for a request whose capability is not declared (client/elicitation, "Error Handling").
 */
export const incapable = (question: Question): Fault => {
  const { code, words } = neededFor(question)
  return new Fault(code, words)
}

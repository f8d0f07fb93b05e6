import { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, stringOf } from '../../kernel/json/text.js'
import type { ClientCapabilities } from '../../model/peer.js'

/** A capability that a client must declare before a server may send it the corresponding request. */
export type AskedCapability = 'roots' | 'sampling' | 'sampling.tools' | 'elicitation.form' | 'elicitation.url'

interface Question {
  readonly method: string
  readonly params: JsonText | undefined
}

export const hasCapability = (capabilities: ClientCapabilities, ability: AskedCapability): boolean => {
  switch (ability) {
    case 'roots':
      return capabilities.roots !== undefined
    case 'sampling':
      return capabilities.sampling !== undefined
    case 'sampling.tools':
      return capabilities.sampling?.tools === true
    case 'elicitation.form':
      return capabilities.elicitation?.form === true
    case 'elicitation.url':
      return capabilities.elicitation?.url === true
  }
}

const QUESTIONS: ReadonlySet<string> = new Set(['roots/list', 'sampling/createMessage', 'elicitation/create'])

/** Whether this is a server request whose capability the client declared. */
export const canBeAsked = (question: Question, capabilities: ClientCapabilities): boolean =>
  QUESTIONS.has(question.method) && hasCapability(capabilities, capabilityFor(question))

export const capabilityFor = ({ method, params }: Question): AskedCapability => {
  if (method === 'roots/list') return 'roots'
  if (method === 'elicitation/create') {
    return params !== undefined && stringOf(memberOf(params, 'mode')) === 'url'
      ? 'elicitation.url'
      : 'elicitation.form'
  }
  const wantsTools =
    params !== undefined && ['tools', 'toolChoice'].some(key => memberOf(params, key) !== undefined)
  return wantsTools ? 'sampling.tools' : 'sampling'
}

/** The error for a request whose capability is not declared (client/elicitation, "Error Handling"). */
export const incapable = (question: Question): Fault => {
  switch (capabilityFor(question)) {
    case 'roots':
      return new Fault('unknown-method', 'Roots not supported')
    case 'sampling':
      return new Fault('unknown-method', 'Sampling not supported')
    case 'sampling.tools':
      return new Fault('invalid-params', 'Sampling with tools not supported')
    case 'elicitation.form':
      return new Fault('unknown-method', 'Elicitation not supported')
    case 'elicitation.url':
      return new Fault('invalid-params', 'Elicitation mode not supported: url')
  }
}

import { Fault } from '../../kernel/faults.js'
import { editMember } from '../../kernel/json/edit.js'
import {
  arrayText,
  elementsOf,
  isEmpty,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  rawText,
  some,
  stringOf,
  textOf,
  withMember,
  withoutMember,
  withoutMembers,
} from '../../kernel/json/text.js'
import { textBlock } from '../../model/content.js'
import { type Answer, failed, succeeded } from '../../model/outcome.js'

export interface KeyedQuestion {
  readonly key: string
  readonly method: string
  readonly params: JsonText | undefined
}

/** Creates an `InputRequiredResult` (2026-07-28, basic/patterns/mrtr). */
export const inputRequired = (questions: readonly KeyedQuestion[], requestState: string): JsonText =>
  objectText([
    ['resultType', rawText('"input_required"')],
    // If all were withdrawn, the client returns for the rest without an answer.
    ...(questions.length === 0 ? [] : [['inputRequests', embeddedAll(questions)] as const]),
    ['requestState', textOf(requestState)],
  ])

const embeddedAll = (questions: readonly KeyedQuestion[]): JsonText =>
  objectText(questions.map(({ key, method, params }) => [key, embedded(method, params)] as const))

const embedded = (method: string, params: JsonText | undefined): JsonText => {
  const bare = questionParams(method, params)
  return objectText([['method', textOf(method)], ...(bare === undefined ? [] : [['params', bare] as const])])
}

/** Returns a legacy question's params for a modern client, which needs `mode`; undefined if none are left. */
export const questionParams = (method: string, params: JsonText | undefined): JsonText | undefined => {
  const isElicitation = method === 'elicitation/create'
  const bare = params && withoutMember(params, '_meta', 'task', ...(isElicitation ? ['elicitationId'] : []))
  if (bare === undefined || isEmpty(bare)) return undefined
  const needsMode = isElicitation && memberOf(bare, 'mode') === undefined
  return needsMode ? withMember(bare, 'mode', rawText('"form"')) : bare
}

interface AnswerKind {
  /** The members of its result; `_meta` and unknown members mean nothing to the other era. */
  readonly members: readonly string[]
  readonly isWellFormed: (answer: JsonText) => boolean
}

const ACTIONS: ReadonlySet<string | undefined> = new Set(['accept', 'decline', 'cancel'])

const isKind = (text: JsonText | undefined, ...kinds: readonly ReturnType<typeof kindOf>[]): boolean =>
  text !== undefined && kinds.includes(kindOf(text))

const ANSWERS: Readonly<Record<string, AnswerKind>> = {
  'roots/list': {
    members: ['roots'],
    isWellFormed(answer) {
      const roots = memberOf(answer, 'roots')
      return (
        roots !== undefined &&
        isKind(roots, 'array') &&
        !some(elementsOf(roots), root => !isKind(memberOf(root, 'uri'), 'string'))
      )
    },
  },
  'sampling/createMessage': {
    members: ['role', 'content', 'model', 'stopReason'],
    isWellFormed: answer =>
      ROLES.has(stringOf(memberOf(answer, 'role'))) &&
      isKind(memberOf(answer, 'content'), 'object', 'array') &&
      isKind(memberOf(answer, 'model'), 'string'),
  },
  'elicitation/create': {
    members: ['action', 'content'],
    isWellFormed(answer) {
      const content = memberOf(answer, 'content')
      const isAccepted = stringOf(memberOf(answer, 'action')) === 'accept'
      if (!ACTIONS.has(stringOf(memberOf(answer, 'action')))) return false
      return content === undefined || !isAccepted || kindOf(content) === 'object'
    },
  },
}

/** Returns whether an answer fits the method of its question (schema: the result type of each). */
export const isAnswer = (method: string, answer: JsonText): boolean =>
  kindOf(answer) === 'object' && ANSWERS[method]?.isWellFormed(answer) === true

/** Returns an answer in the form of the other era: only known members, content if accepted, file roots. */
export const bareAnswer = (method: string, answer: JsonText): JsonText => {
  const members = ANSWERS[method]?.members ?? []
  const known = withoutMembers(answer, at => !members.some(key => at.keyIs(key)))
  switch (method) {
    case 'roots/list':
      return editMember(known, 'roots', fileRoots)
    case 'elicitation/create':
      return stringOf(memberOf(known, 'action')) === 'accept' ? known : withoutMember(known, 'content')
    default:
      return known
  }
}

/**
 * Keeps file roots, without `.` and `..` in their paths, since SDK servers reject a whole answer for any
 * other root. Removes a path that leads above its own beginning.
 */
export const fileRoots = (roots: JsonText): JsonText =>
  kindOf(roots) === 'array' ? mapElements(roots, fileRoot) : roots

const fileRoot = (root: JsonText): JsonText | undefined => {
  const uri = stringOf(memberOf(root, 'uri'))
  const known = uri?.startsWith('file://') === true ? withoutTraversal(uri) : undefined
  if (known === undefined) return undefined
  return known === uri ? root : withMember(root, 'uri', textOf(known))
}

/** Servers decode a path before they use it, so encoded dots and slashes count (RFC 3986 §6.2.2). */
const withoutTraversal = (uri: string): string | undefined => {
  const pathAt = uri.indexOf('/', 'file://'.length)
  if (pathAt === -1) return uri
  const kept: string[] = []
  let isChanged = false
  for (const segment of uri.slice(pathAt + 1).split(/\/|\\|%2f|%5c/i)) {
    const dots = segment.replaceAll(/%2e/gi, '.')
    if (dots !== '.' && dots !== '..') {
      kept.push(segment)
      continue
    }
    isChanged = true
    if (dots === '..' && kept.pop() === undefined) return undefined
  }
  return isChanged ? `${uri.slice(0, pathAt + 1)}${kept.join('/')}` : uri
}

const ROLES: ReadonlySet<string | undefined> = new Set(['user', 'assistant'])

/** Returns whether params fit a server request's method (schema: the params of each). */
export const isQuestion = (method: string, params: JsonText | undefined): boolean => {
  if (method !== 'sampling/createMessage') return true
  const messages = params && memberOf(params, 'messages')
  return (
    messages !== undefined &&
    isKind(messages, 'array') &&
    !some(
      elementsOf(messages),
      message =>
        !ROLES.has(stringOf(memberOf(message, 'role'))) ||
        !isKind(memberOf(message, 'content'), 'object', 'array'),
    )
  )
}

const CANCELLED = rawText('{"action":"cancel"}')

/** Returns the answer to an unanswered question: a form is cancelled, others get an error. */
export const noAnswer = (method: string, words: string): Answer =>
  method === 'elicitation/create' ? succeeded(CANCELLED) : failed(new Fault('internal', words))

/** Returns the outcome of a request that lacks input; for a tool call, as text for the model. */
export const noInput = (method: string, words: string, server: string): Answer =>
  method === 'tools/call'
    ? {
        kind: 'result',
        isError: true,
        result: objectText([
          ['content', arrayText([textBlock(words)])],
          ['isError', rawText('true')],
        ]),
      }
    : failed(new Fault('internal', words, { data: { server } }))

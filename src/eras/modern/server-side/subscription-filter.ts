import {
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
} from '../../../kernel/json/text.js'
import type { ServerCapabilities } from '../../../model/peer.js'

/** A kind of list whose changes a server can tell (schema, `SubscriptionFilter`). */
export interface ListKind {
  readonly capability: 'tools' | 'prompts' | 'resources'
  readonly flag: string
  readonly notice: string
  /** How lists of this kind are read. */
  readonly methods: readonly string[]
}

const LIST_KINDS: readonly ListKind[] = [
  {
    capability: 'tools',
    flag: 'toolsListChanged',
    notice: 'notifications/tools/list_changed',
    methods: ['tools/list'],
  },
  {
    capability: 'prompts',
    flag: 'promptsListChanged',
    notice: 'notifications/prompts/list_changed',
    methods: ['prompts/list'],
  },
  {
    capability: 'resources',
    flag: 'resourcesListChanged',
    notice: 'notifications/resources/list_changed',
    methods: ['resources/list', 'resources/templates/list'],
  },
]

const EMPTY = rawText('{}')
const TRUE = rawText('true')

/** The lists of which a server says that it tells their changes. */
export const kindsOf = (capabilities: ServerCapabilities): readonly ListKind[] =>
  LIST_KINDS.filter(({ capability }) => capabilities[capability]?.listChanged === true)

/** Params of `subscriptions/listen`, without the envelope. */
export const listenParams = (kinds: readonly ListKind[], uris: ReadonlySet<string>): JsonText => {
  const members: (readonly [string, JsonText])[] = kinds.map(({ flag }) => [flag, TRUE])
  if (uris.size > 0) members.push(['resourceSubscriptions', textOf([...uris])])
  return objectText([['notifications', objectText(members)]])
}

/** What a server promised to tell. */
export interface Promised {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string | undefined>
}

/** What an acknowledgement promises of `kinds`, and of URIs. */
export const promisedIn = (acknowledgement: JsonText | undefined, kinds: readonly ListKind[]): Promised => {
  const filter = (acknowledgement && memberOf(acknowledgement, 'notifications')) ?? EMPTY
  return {
    kinds: kinds.filter(({ flag }) => isTrue(memberOf(filter, flag))),
    uris: new Set(stringsIn(memberOf(filter, 'resourceSubscriptions') ?? EMPTY)),
  }
}

function* stringsIn(list: JsonText): Generator<string | undefined, void> {
  for (const element of elementsOf(list)) yield stringOf(element)
}

const isTrue = (flag: JsonText | undefined): boolean =>
  flag !== undefined && kindOf(flag) === 'boolean' && flag.toString('latin1') === 'true'

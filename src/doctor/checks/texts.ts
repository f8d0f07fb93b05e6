import { escapeForeign, hiddenCodePoints } from '../../kernel/hidden-text.js'
import type { ModelText } from '../../kernel/model-texts.js'
import { type Finding, finding } from '../finding.js'

/** The texts of a server that models read. */
export interface ServerTexts {
  readonly server: string
  readonly texts?: readonly ModelText[] | undefined
}

const SHOWN_CHARS = 100

/** Names of servers are shown with hidden characters escaped. */
const shown = (text: string): string => escapeForeign(text).slice(0, SHOWN_CHARS)

const itemOf = (server: string, { item }: ModelText): string =>
  shown(item === '' ? server : `${server}/${item}`)

export const lookAtHiddenText = (servers: readonly ServerTexts[]): readonly Finding[] =>
  servers.flatMap(({ server, texts = [] }) =>
    texts.flatMap(found => {
      const characters = hiddenCodePoints(found.text)
      if (characters.length === 0) return []
      const facts = {
        ...{ item: itemOf(server, found), member: shown(found.member) },
        characters: characters.slice(0, 10).join(', '),
      }
      return [finding('D067', facts, { subject: server })]
    }),
  )

/** Characters that look like a Latin letter, each before that letter. */
const LOOKALIKES = 'аa еe оo рp сc хx уy іi ѕs јj ԁd һh ոn αa οo νv ρp 0o 1l Il |l'
const LETTERS: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.split(' ').map(pair => [pair.slice(0, 1), pair.slice(1)]),
)

const plain = (text: string): string => Array.from(text, sign => LETTERS.get(sign) ?? sign).join('')

/** Returns the forms of a name by which names look alike: folded, an I no longer looks like an l. */
const formsOf = (name: string): readonly string[] => {
  const normal = name.normalize('NFKC')
  return [plain(normal.toLowerCase()), plain(plain(normal).toLowerCase())]
}

const MIXED = /(?=.*\p{Script=Latin}).*[\p{Script=Cyrillic}\p{Script=Greek}]/su

/** Finds names that look like another name, or mix alphabets. */
export const lookAtLookalikes = (servers: readonly ServerTexts[]): readonly Finding[] => {
  const names = servers.flatMap(({ server, texts = [] }) =>
    texts
      .filter(({ member, kind }) => member === 'name' && kind !== 'template')
      .map(({ text }) => ({ server, text })),
  )
  const first = new Map<string, (typeof names)[number]>()
  return names.flatMap(name => {
    const { server, text } = name
    const others = formsOf(text).map((form, at) => {
      const key = `${at} ${form}`
      const known = first.get(key)
      if (known === undefined) first.set(key, name)
      return known
    })
    const other = others.find(each => each !== undefined && each.text !== text)
    const item = shown(`${server}/${text}`)
    if (other !== undefined) {
      const facts = { item, other: shown(`${other.server}/${other.text}`) }
      return [finding('D068', facts, { subject: server })]
    }
    return MIXED.test(text) ? [finding('D068.mixed', { item }, { subject: server })] : []
  })
}

/** Names of tools that are unlikely to be other words. */
const TOOL_NAME = /[\p{L}\p{N}_-]{6,}/gu
const isToolName = (name: string): boolean => name.length >= 6 && /[_-]/.test(name)

/** Finds descriptions that name the tool of another server. */
export const lookAtMentions = (servers: readonly ServerTexts[]): readonly Finding[] => {
  const owners = new Map<string, Set<string>>()
  for (const { server, texts = [] } of servers)
    for (const { kind, member, text } of texts)
      if (kind === 'tool' && member === 'name' && isToolName(text))
        owners.set(text, (owners.get(text) ?? new Set()).add(server))
  return servers.flatMap(({ server, texts = [] }) =>
    texts.flatMap(found => {
      if (!found.member.endsWith('description')) return []
      const named = [...new Set(found.text.match(TOOL_NAME) ?? [])].flatMap(tool => {
        const of = owners.get(tool)
        const [other] = of === undefined || of.has(server) ? [] : of
        return other === undefined ? [] : [{ tool: shown(tool), other }]
      })
      return named.map(({ tool, other }) =>
        finding('D069', { item: itemOf(server, found), tool, other }, { subject: server }),
      )
    }),
  )
}

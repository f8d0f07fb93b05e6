import type { Probe, ProbedTool } from '../facts.js'
import { type Finding, finding, findingOf } from '../finding.js'
import { schemaDefects } from './schemas.js'

const SHOWN_BYTES = 2048
const SHOWN_TOKENS = 10_000
const BYTES_PER_TOKEN = 4
/** Names of tools of the proxy itself. */
const RESERVED = new Set(['find_tools', 'describe_tools', 'call_read_tool', 'call_write_tool', 'read_result'])

type Owned = ProbedTool & { readonly server: string }

const toolsOf = (probes: readonly Probe[]): readonly Owned[] =>
  probes.flatMap(({ server, tools }) => tools.map(tool => ({ ...tool, server })))

export const lookAtNames = (probes: readonly Probe[]): readonly Finding[] =>
  toolsOf(probes)
    .filter(({ name, long }) => name !== long)
    .map(({ name: short, long, server }) => finding('D060', { long, short }, { subject: server }))

export const lookAtSchemas = (probes: readonly Probe[]): readonly Finding[] => [
  ...probes.flatMap(({ server, repairs }) =>
    repairs.map(({ item: tool, message: why, isLeftOut }) => {
      const facts = { tool, clients: 'most clients', why }
      return finding(isLeftOut === true ? 'D061' : 'D061.repaired', facts, { subject: server })
    }),
  ),
  ...toolsOf(probes).flatMap(({ name: tool, schema, server }) => {
    const [defect] = schemaDefects(tool, schema, server)
    return defect === undefined ? [] : [findingOf(defect)]
  }),
]

export const lookAtEqualNames = (probes: readonly Probe[]): readonly Finding[] => {
  const owners = new Map<string, readonly string[]>()
  for (const { name, server } of toolsOf(probes)) owners.set(name, [...(owners.get(name) ?? []), server])
  return [...owners].flatMap(([tool, servers]) => {
    const isReserved = RESERVED.has(tool)
    if (servers.length < 2 && !isReserved) return []
    const all = [...servers, ...(isReserved ? ['this proxy'] : [])].join(' and ')
    return [finding('D062', { tool, servers: all }, { subject: servers[0] ?? '' })]
  })
}

export const lookAtTexts = (probes: readonly Probe[]): readonly Finding[] => [
  ...probes
    .filter(({ instructionBytes }) => instructionBytes > SHOWN_BYTES)
    .map(({ server, instructionBytes: bytes }) =>
      finding('D063.instructions', { server, bytes }, { subject: server }),
    ),
  ...toolsOf(probes)
    .filter(({ descriptionBytes }) => descriptionBytes > SHOWN_BYTES)
    .map(({ name: tool, server, descriptionBytes: bytes }) =>
      finding('D063', { tool, bytes }, { subject: server }),
    ),
]

export const lookAtTokens = (probes: readonly Probe[]): readonly Finding[] => {
  const tools = toolsOf(probes)
  const tokens = Math.round(tools.reduce((sum, { bytes }) => sum + bytes, 0) / BYTES_PER_TOKEN)
  return tokens <= SHOWN_TOKENS ? [] : [finding('D064', { count: tools.length, tokens })]
}

export const lookAtHints = (probes: readonly Probe[]): readonly Finding[] =>
  probes.flatMap(({ server, tools }) => {
    const count = tools.filter(({ hasHints }) => !hasHints).length
    return count === 0 ? [] : [finding('D065', { count, all: tools.length, server }, { subject: server })]
  })

export const lookAtChanges = (probes: readonly Probe[]): readonly Finding[] =>
  probes.flatMap(({ server, differences = [] }) =>
    differences.map(({ name, change, fields }) => {
      const item = `${server}/${name || 'instructions'}`
      const what = fields.length === 0 ? `it was ${change}` : fields.join(', ')
      return finding('D066', { item, what }, { subject: server })
    }),
  )

import { type AnyServer, isOn, type PageState } from './state.js'

const stateOf = (server: AnyServer): string => (isOn(server) ? server.state : 'disabled')

/** States announced to screen readers. */
const WORDS: Readonly<Record<string, string>> = {
  ready: 'is ready',
  failed: 'has failed',
  backoff: 'was lost',
  disabled: 'is disabled',
  'needs-auth': 'requires a login',
}

/** Describes the changes between two states of the page in a sentence. Empty without important changes. */
export const changesBetween = (before: PageState, after: PageState): string => {
  if (before.link.is === 'live' && after.link.is === 'lost') return 'Connection lost'
  if (before.link.is === 'lost' && after.link.is === 'live') return 'Connected again'
  const known = new Map(before.servers?.servers.map(server => [server.name, stateOf(server)]))
  const changed = (after.servers?.servers ?? []).flatMap(server => {
    const word = WORDS[stateOf(server)]
    const old = known.get(server.name)
    return old === undefined || old === stateOf(server) || word === undefined
      ? []
      : [`${server.name} ${word}`]
  })
  return changed.slice(0, 3).join(', ')
}

// Prints the cost of names and URIs. Reports only; never fails.
// Usage: node bench/micro/names.js [another checkout of the same layout]
import { built, show } from './measure.js'

const [names, uris] = await Promise.all(['catalog/names/names', 'catalog/names/uris'].map(built))

function run() {
  show('exposedName, short', 0, () => names.exposedName('github', 'search_repositories'))
  show('exposedName, too long', 0, () => names.exposedName('github', 'search_'.repeat(12)))
  const find = uris.schemeAliases(Array.from({ length: 50 }, (_, i) => `server-${i}`))
  show('splitUri, prefixed', 0, () => uris.splitUri('server-17+file:///home/me/notes.txt', find))
  show('splitUri, not prefixed', 0, () => uris.splitUri('file:///home/me/notes.txt', find))
}

run()

import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Live } from './live/live.js'
import { changesBetween } from './live/news.js'
import { codeIn, parseRoute, routePartsOf } from './live/route.js'
import { onKey } from './views/keys.js'
import { PageFrame } from './views/page.js'
import { restoreTheme } from './views/theme.js'

/** Minimum time between announcements of the live region. */
const NEWS_MS = 5000

/** Returns the text of the live region: the changes since its last announcement. */
const useChanges = (live: Live): string => {
  const told = useRef({ state: live.state, atMs: 0, words: '' })
  const { state } = live
  if (state.now - told.current.atMs >= NEWS_MS) {
    const message = changesBetween(told.current.state, state)
    told.current = message === '' ? { ...told.current, state } : { state, atMs: state.now, words: message }
  }
  return told.current.words
}

const App = ({ live }: { readonly live: Live }) => {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  const [, draw] = useState(0)
  const current = useRef(route)
  current.current = route
  useEffect(() => {
    live.onChange = () => draw(n => n + 1)
    addEventListener('hashchange', () => {
      // If a new code is pasted into the address bar, reload: only the start exchanges it.
      if (codeIn(location.hash) !== undefined) location.reload()
      const next = parseRoute(location.hash)
      live.show(routePartsOf(next))
      setRoute(next)
    })
    addEventListener('keydown', event => onKey(event, current.current))
  }, [])
  return <PageFrame state={live.state} route={route} news={useChanges(live)} onRetry={() => live.connect()} />
}

restoreTheme()
const live = new Live()
const code = codeIn(location.hash)
// The code works once; keep it out of the history.
if (code !== undefined) history.replaceState(null, '', '#/')
void live.begin(code, routePartsOf(parseRoute(location.hash)))
const root = document.getElementById('root')
// Remove the fallback text of index.html.
root?.replaceChildren()
if (root !== null) render(<App live={live} />, root)

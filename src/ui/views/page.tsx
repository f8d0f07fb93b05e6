import { useLayoutEffect, useRef } from 'preact/hooks'
import { hrefOf, type PageRoute, VIEWS } from '../live/route.js'
import { type PageState, problemsOf } from '../live/state.js'
import { Help } from '../parts/dialog.js'
import { age } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { CommandText, Empty } from '../parts/text.js'
import { ToolList } from '../tools/list.js'
import { Tool } from '../tools/tool.js'
import { Calls } from './calls.js'
import { Clients } from './clients.js'
import { Configuration } from './configuration.js'
import { ErrorOf, Errors } from './errors.js'
import { KEYS } from './keys.js'
import { LimitsView } from './limits.js'
import { Overview } from './overview.js'
import { ServerPage } from './server.js'
import { Servers } from './servers.js'
import { ThemeSwitch } from './theme.js'

export interface PageProps {
  readonly state: PageState
  readonly route: PageRoute
  readonly onRetry: () => void
  /** The text of the live region. */
  readonly news: string
}

/** The whole page: navigation, the current view, and the connection state. */
export const PageFrame = ({ state, route, onRetry, news }: PageProps) => {
  const { link } = state
  if (link.is === 'signed-out') return <SignedOut why={link.why} />
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header state={state} route={route} />
      <div class="stage">
        {link.is === 'lost' && (
          <div class="banner">
            <Lamp word="failed" show="Connection lost" />
            <span>
              {link.why}; the data may be out of date. Next attempt in{' '}
              {age(Math.max(0, link.retryAt - state.now))}.
            </span>
            <button type="button" onClick={onRetry}>
              Try now
            </button>
          </div>
        )}
        <Main state={state} route={route} />
      </div>
      <p class="hidden" role="status">
        {news}
      </p>
    </>
  )
}

const Header = ({ state, route }: { readonly state: PageState; readonly route: PageRoute }) => {
  const { status, servers } = state
  const bad = problemsOf(servers).length
  return (
    <header>
      <div class="brand">
        <h1>mcp-proxy</h1>
        <span class="muted">
          {status === undefined
            ? ''
            : `${status.version} · up ${age(status.upMs + state.now - state.statusAt)}`}
        </span>
      </div>
      <nav aria-label="Views">
        {VIEWS.map(({ name, title }) => (
          <a key={name} href={hrefOf(name)} aria-current={route.view === name ? 'page' : undefined}>
            {title}
            {name === 'overview' && bad > 0 && (
              <span class="badge">
                {bad}
                <span class="hidden"> {bad === 1 ? 'problem' : 'problems'}</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="tools">
        <ThemeSwitch />
        <Help id="help" label="Keys">
          <h2>Keys</h2>
          <dl class="keys">
            {KEYS.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </Help>
      </div>
    </header>
  )
}

/** The current view. Takes the focus when another view opens, before a key can move it. */
const Main = ({ state, route }: { readonly state: PageState; readonly route: PageRoute }) => {
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const { view, item } = route
  const title = VIEWS.find(({ name }) => name === view)?.title ?? ''
  useLayoutEffect(() => {
    document.title = `${item ?? title} · mcp-proxy`
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true })
      scrollTo(0, 0)
    }
    isFirst.current = false
  }, [view, item])
  return (
    <main id="main" tabIndex={-1} ref={main} aria-label={item ?? title}>
      {item === undefined && <h2>{title}</h2>}
      <View state={state} route={route} />
    </main>
  )
}

const View = ({
  state,
  route: { view, item, filter },
}: {
  readonly state: PageState
  readonly route: PageRoute
}) => {
  switch (view) {
    case 'overview':
      return <Overview state={state} />
    case 'servers':
      return item === undefined ? <Servers state={state} /> : <ServerPage state={state} name={item} />
    case 'tools':
      return item === undefined ? <ToolList state={state} filter={filter} /> : <Tool key={item} name={item} />
    case 'calls':
      return <Calls state={state} filter={filter} />
    case 'clients':
      return <Clients state={state} />
    case 'errors':
      return item === undefined ? (
        <Errors state={state} filter={filter} />
      ) : (
        <ErrorOf state={state} id={item} />
      )
    case 'limits':
      return <LimitsView state={state} />
    case 'configuration':
      return <Configuration state={state} />
  }
}

/** Shown without a session, or after it expired. */
const SignedOut = ({ why }: { readonly why: string }) => (
  <main class="door">
    <h1>mcp-proxy</h1>
    <Empty title={why === '' ? 'Sign-in required' : 'Sign-in failed'}>
      {why !== '' && <p class="wrong">{why}</p>}
      <p>Each tab needs its own code. Run this on the proxy's host:</p>
      <CommandText text="mcp-proxy ui" />
    </Empty>
  </main>
)

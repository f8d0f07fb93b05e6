import type { Why } from '../../control/api/why.js'
import { withOwnCommand } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { useLoad } from './load.js'
import { LongText } from './text.js'

/** The verdict on a name, URI, server or error id, with its causes. */
export const WhyPanel = ({ why }: { readonly why: Why }) => (
  <div class="why">
    {why.kind !== 'error' && (
      <p>
        {why.verdict === 'shown' && why.answered ? (
          <strong>Visible to clients</strong>
        ) : (
          <>
            <strong>{why.verdict}</strong>, a request would {why.answered ? '' : 'not '}be answered
          </>
        )}
        {why.server !== undefined && (
          <>
            {' · '}
            <a href={hrefOf('servers', why.server)}>{why.server}</a>
          </>
        )}
        {why.own !== undefined && (
          <>
            {' · own name '}
            <code>{why.own}</code>
          </>
        )}
      </p>
    )}
    {why.causes.length > 0 && (
      <ul>
        {why.causes.map(({ verdict, words, file, line, column }, n) => (
          <li key={n}>
            {why.kind !== 'error' && <span class="tag">{verdict}</span>} <LongText text={words} first={400} />
            {file !== undefined && (
              <code class="muted"> {[file, line, column].filter(Boolean).join(':')}</code>
            )}
          </li>
        ))}
      </ul>
    )}
    {why.fix !== undefined && <p class="fix">To do: {withOwnCommand(why.fix)}.</p>}
  </div>
)

/** Loads the verdict on a name, and again whenever `stamp` changes. */
export const WhyOf = ({ query, stamp }: { readonly query: string; readonly stamp?: unknown }) => {
  const { value, why } = useLoad<Why>(`why?q=${encodeURIComponent(query)}`, stamp)
  if (why !== undefined) return <p class="wrong">{why}</p>
  return value === undefined ? <p class="muted">…</p> : <WhyPanel why={value} />
}

import type { ToolView } from '../../control/api/views.js'
import type { Why } from '../../control/api/why.js'
import { useLoad } from '../parts/load.js'
import { LongText, Path } from '../parts/text.js'
import { Verdict } from '../parts/why.js'
import { asSchema, isRecord } from './drafts.js'
import { TryForm } from './try-form.js'

const HINTS = {
  readOnlyHint: ['only reads', 'may change something'],
  destructiveHint: ['may destroy something', 'destroys nothing'],
  idempotentHint: ['may be repeated', 'does more when repeated'],
  openWorldHint: ['reaches beyond this machine', 'no external access'],
} as const

/** What a server says of a tool by its annotations; as they are hints, in its words. @internal */
export const hintsOf = (annotations: unknown): readonly string[] =>
  Object.entries(HINTS).flatMap(([key, [yes, no]]) => {
    const value = isRecord(annotations) ? annotations[key] : undefined
    if (typeof value !== 'boolean') return []
    return [value ? yes : no]
  })

/** Verdicts on a name that no tool is listed under. */
const UNSEEN = /hidden|broken|unknown|cut-off|list-not-read/

/** What became of a name, and the tool if one is listed under it. */
const useTool = (name: string) => {
  const path = encodeURIComponent(name)
  const { value: verdict, why } = useLoad<Why>(`why?q=${path}`)
  // Nobody asks for what is not there: the browser would call that an error.
  const isListed = verdict?.kind === 'tool' && verdict.own !== undefined && !UNSEEN.test(verdict.verdict)
  const { value } = useLoad<ToolView>(isListed ? `tools/${path}` : undefined)
  return { verdict, why, value }
}

/** One tool: what became of its name, what it says of itself, and a form to try it. */
export const Tool = ({ name }: { readonly name: string }) => {
  const { verdict, why, value } = useTool(name)
  const tool = isRecord(value?.tool) ? value.tool : {}
  const { description, annotations, inputSchema } = tool
  const hints = hintsOf(annotations)
  return (
    <>
      <Path view="tools" title="Tools" />
      <h2 class="name">{name}</h2>
      {typeof description === 'string' && (
        <p class="prose">
          <LongText text={description} first={600} />
        </p>
      )}
      {hints.length > 0 && <p class="muted">The server says: {hints.join(', ')}.</p>}
      <section aria-labelledby="why">
        <h3 id="why">Why</h3>
        {verdict === undefined ? <p class="muted">{why ?? '…'}</p> : <Verdict why={verdict} />}
      </section>
      {value !== undefined && (
        <section aria-labelledby="trying">
          <h3 id="trying">Try</h3>
          <TryForm
            key={name}
            name={name}
            schema={asSchema(inputSchema)}
            isReadOnly={isRecord(annotations) && annotations['readOnlyHint'] === true}
          />
        </section>
      )}
      {value !== undefined && (
        <section aria-labelledby="schema">
          <h3 id="schema">Definition</h3>
          <pre tabIndex={0}>
            <LongText text={JSON.stringify(tool, null, 2)} first={1200} />
          </pre>
        </section>
      )}
    </>
  )
}

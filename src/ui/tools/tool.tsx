import type { ToolView } from '../../control/api/views.js'
import type { Why } from '../../control/api/why.js'
import { useLoad } from '../parts/load.js'
import { LongText, Path } from '../parts/text.js'
import { WhyPanel } from '../parts/why.js'
import { asSchema, isRecord } from './drafts.js'
import { TryForm } from './try-form.js'

const HINTS = {
  readOnlyHint: ['read-only', 'may modify data'],
  destructiveHint: ['may be destructive', 'not destructive'],
  idempotentHint: ['safe to repeat', 'not safe to repeat'],
  openWorldHint: ['uses external systems', 'no external access'],
} as const

/** Returns a tool's annotations in the server's terms, since they are only hints. @internal */
export const hintsOf = (annotations: unknown): readonly string[] =>
  Object.entries(HINTS).flatMap(([key, [yes, no]]) => {
    const value = isRecord(annotations) ? annotations[key] : undefined
    if (typeof value !== 'boolean') return []
    return [value ? yes : no]
  })

/** Verdicts on names without a listed tool. */
const UNSEEN = /hidden|broken|unknown|cut-off|list-not-read/

/** Loads the verdict on a name, and its tool if listed. */
const useTool = (name: string) => {
  const path = encodeURIComponent(name)
  const { value: verdict, why } = useLoad<Why>(`why?q=${path}`)
  // Requests for a missing tool would show as errors in the browser console.
  const isListed = verdict?.kind === 'tool' && verdict.own !== undefined && !UNSEEN.test(verdict.verdict)
  const { value } = useLoad<ToolView>(isListed ? `tools/${path}` : undefined)
  return { verdict, why, value }
}

/** A tool: its verdict, its description, and a form to try it. */
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
        {verdict === undefined ? <p class="muted">{why ?? '…'}</p> : <WhyPanel why={verdict} />}
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

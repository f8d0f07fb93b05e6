import { hrefOf } from '../live/route.js'
import { bytes } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { LongText } from '../parts/text.js'
import { isRecord } from './drafts.js'

/** The answer of `POST call`: an unvalidated JSON-RPC result or error. */
export interface CallAnswer {
  readonly result?: unknown
  readonly error?: unknown
}

/** Maximum blocks shown of a result. */
const BLOCKS = 50

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/**
 * Returns the text of a content block, or its type. Images and audio come from servers and are not shown.
 * @internal
 */
export const textOfBlock = (block: unknown): string => {
  if (!isRecord(block)) return json(block)
  const { type, text, data, mimeType } = block
  if (type === 'text' && typeof text === 'string') return text
  if (typeof data === 'string') return `${String(type)}, ${String(mimeType)}, ${bytes(data.length * 0.75)}`
  return json(block)
}

/** The result of a call. */
export const Result = ({ answer, tookMs }: { readonly answer: CallAnswer; readonly tookMs: number }) => {
  const took = <span class="muted">in {Math.round(tookMs)} ms</span>
  if (isRecord(answer.error)) {
    const { code, message, data } = answer.error
    const id = isRecord(data) && typeof data['errorId'] === 'string' ? data['errorId'] : undefined
    return (
      <div class="result">
        <p>
          <Lamp word="error" show={`error ${String(code)}`} /> {took}
        </p>
        <p>
          <LongText text={String(message)} />
        </p>
        {id !== undefined && <a href={hrefOf('errors', id)}>Why: {id}</a>}
      </div>
    )
  }
  const { content, structuredContent, isError } = isRecord(answer.result) ? answer.result : {}
  const blocks = Array.isArray(content) ? (content as readonly unknown[]) : []
  return (
    <div class="result">
      <p>
        {isError === true ? <Lamp word="tool_error" show="the tool reported an error" /> : <Lamp word="ok" />}{' '}
        {took}
      </p>
      {blocks.slice(0, BLOCKS).map((block, n) => (
        <pre key={n} tabIndex={0}>
          <LongText text={textOfBlock(block)} />
        </pre>
      ))}
      {blocks.length > BLOCKS && <p class="muted">and {blocks.length - BLOCKS} more blocks</p>}
      {structuredContent !== undefined && (
        <>
          <h4>Structured content</h4>
          <pre tabIndex={0}>
            <LongText text={json(structuredContent)} />
          </pre>
        </>
      )}
      {blocks.length === 0 && structuredContent === undefined && <p class="muted">No content.</p>}
    </div>
  )
}

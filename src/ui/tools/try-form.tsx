import { useEffect, useRef, useState } from 'preact/hooks'
import { followEvents, messageOf } from '../live/api.js'
import type { StreamEvent } from '../live/events.js'
import {
  type Draft,
  emptyDraft,
  fieldKindOf,
  isRecord,
  propertiesOf,
  readDraft,
  type Schema,
} from './drafts.js'
import { Field, type FieldProps, ObjectFields } from './fields.js'
import { type CallAnswer, Result } from './result.js'

type Run =
  | { readonly is: 'idle' }
  | { readonly is: 'wrong' | 'running'; readonly message: string }
  | { readonly is: 'over'; readonly answer: CallAnswer; readonly tookMs: number }

/** Formats a progress notification of a server. @internal */
export const progressText = (params: unknown): string => {
  if (!isRecord(params)) return ''
  const { progress, total, message } = params
  const of = typeof total === 'number' ? ` of ${total}` : ''
  const text = typeof message === 'string' ? `: ${message.slice(0, 200)}` : ''
  return `${String(progress)}${of}${text}`
}

/** Calls a tool as a client without capabilities. Leaving the view cancels the call. */
const useCall = (name: string) => {
  const [run, setRun] = useState<Run>({ is: 'idle' })
  const calling = useRef<AbortController>(undefined)
  useEffect(() => () => calling.current?.abort(), [name])
  const start = (args: unknown): void => {
    const abort = new AbortController()
    calling.current = abort
    const beganMs = performance.now()
    setRun({ is: 'running', message: 'in progress' })
    let isAnswered = false
    const onEvent = ({ event, data }: StreamEvent): void => {
      const value = JSON.parse(data) as CallAnswer
      if (event === 'progress') setRun({ is: 'running', message: progressText(value) })
      if (event !== 'answer') return
      isAnswered = true
      setRun({ is: 'over', answer: value, tookMs: performance.now() - beganMs })
    }
    const body = JSON.stringify({ name, arguments: args })
    followEvents('call', onEvent, { method: 'POST', body, signal: abort.signal })
      .catch((thrown: unknown) => {
        isAnswered = true
        setRun({ is: 'wrong', message: abort.signal.aborted ? 'cancelled' : messageOf(thrown) })
      })
      .finally(() => {
        if (!isAnswered) setRun({ is: 'wrong', message: 'the proxy stopped before it answered' })
      })
  }
  return {
    run,
    start,
    refuse: (message: string) => setRun({ is: 'wrong', message }),
    cancel: () => calling.current?.abort(),
  }
}

export interface TryProps {
  readonly name: string
  readonly schema: Schema
  /** True if the server declares the tool read-only. */
  readonly isReadOnly: boolean
}

/** A form made from a tool's input schema. Asks for confirmation unless the tool is read-only. */
export const TryForm = ({ name, schema, isReadOnly }: TryProps) => {
  const [draft, setDraft] = useState<Draft>(() => emptyDraft(schema))
  const { run, start, refuse, cancel } = useCall(name)
  const dialog = useRef<HTMLDialogElement>(null)
  const isRunning = run.is === 'running'
  const call = (): void => {
    const read = readDraft(schema, draft)
    if ('problem' in read) refuse(read.problem)
    else start(read.value ?? {})
  }
  const onSubmit = (event: Event): void => {
    event.preventDefault()
    if (isReadOnly) call()
    else dialog.current?.showModal()
  }
  const confirmed = (): void => {
    dialog.current?.close()
    call()
  }
  const shared = { id: 'try', schema, draft, onDraft: setDraft }
  return (
    <form class="try" onSubmit={onSubmit} aria-label={`Try ${name}`}>
      <Arguments {...shared} />
      <div class="row">
        <button type="submit" class="main" disabled={isRunning}>
          Call
        </button>
        {isRunning && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        {(run.is === 'running' || run.is === 'wrong') && <span class={run.is}>{run.message}</span>}
      </div>
      <dialog ref={dialog} aria-label={`Call ${name}`}>
        <p>{name} may modify data: its server does not declare it read-only. Call it?</p>
        <div class="row">
          <button type="button" class="main" onClick={confirmed}>
            Call it
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </dialog>
      {run.is === 'over' && <Result answer={run.answer} tookMs={run.tookMs} />}
    </form>
  )
}

const Arguments = (shared: Pick<FieldProps, 'id' | 'schema' | 'draft' | 'onDraft'>) => {
  if (propertiesOf(shared.schema).length === 0) return <p class="muted">No arguments.</p>
  if (fieldKindOf(shared.schema) === 'object') return <ObjectFields {...shared} depth={0} />
  return <Field {...shared} label="arguments" isNeeded={false} depth={0} />
}

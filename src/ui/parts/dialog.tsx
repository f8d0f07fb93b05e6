import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { messageOf } from '../live/api.js'

/** A modal dialog: the browser keeps focus inside, and Escape closes it. */
const useDialog = () => {
  const ref = useRef<HTMLDialogElement>(null)
  return { ref, open: () => ref.current?.showModal(), close: () => ref.current?.close() }
}

export interface ActionProps {
  readonly label: string
  readonly id?: string
  /** The confirmation question. Without it, the action starts at once. */
  readonly question?: string | undefined
  /** Rejects with the message to show. */
  readonly act: () => Promise<void>
  readonly disabled?: boolean
}

/** A button that confirms and runs an action, and shows its result. */
export const Action = ({ label, id, question, act, disabled = false }: ActionProps) => {
  const dialog = useDialog()
  const [answer, setAnswer] = useState('')
  const run = (): void => {
    dialog.close()
    setAnswer('…')
    act().then(
      () => setAnswer('done'),
      (thrown: unknown) => setAnswer(messageOf(thrown)),
    )
  }
  return (
    <span class="action">
      <button
        type="button"
        id={id}
        disabled={disabled}
        onClick={() => (question === undefined ? run() : dialog.open())}
      >
        {label}
      </button>
      {answer !== '' && <span class="muted">{answer}</span>}
      {question !== undefined && (
        <dialog ref={dialog.ref} aria-label={label}>
          <p>{question}</p>
          <div class="row">
            <button type="button" class="main" onClick={run}>
              {label}
            </button>
            <button type="button" onClick={dialog.close}>
              Cancel
            </button>
          </div>
        </dialog>
      )}
    </span>
  )
}

/** A button that opens an informational dialog. */
export const Help = ({
  label,
  id,
  children,
}: {
  readonly label: string
  readonly id: string
  readonly children: ComponentChildren
}) => {
  const dialog = useDialog()
  return (
    <>
      <button type="button" class="quiet" id={id} aria-label={label} onClick={dialog.open}>
        ?
      </button>
      <dialog ref={dialog.ref} aria-label={label}>
        {children}
        <button type="button" onClick={dialog.close}>
          Close
        </button>
      </dialog>
    </>
  )
}

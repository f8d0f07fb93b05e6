import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { withOwnCommand } from '../live/api.js'
import { hrefOf, type ViewName } from '../live/route.js'
import { bytes } from './format.js'

const FIRST = 2000
const MORE = 64 * 1024

/** Truncated text from a server or client, with a button to show more. */
export const LongText = ({ text, first = FIRST }: { readonly text: string; readonly first?: number }) => {
  const [shown, setShown] = useState(first)
  const rest = text.length - shown
  return (
    <>
      <span class="said">{rest > 0 ? text.slice(0, shown) : text}</span>
      {rest > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + MORE)}>
          … show more ({bytes(rest)} left)
        </button>
      )}
    </>
  )
}

/** A command with a copy button. */
export const CommandText = ({ text: short }: { readonly text: string }) => {
  const text = withOwnCommand(short)
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet" aria-label={`Copy ${text}`} onClick={copy}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </span>
  )
}

/** A link from an item to the list of its kind. */
export const Path = ({ view, title }: { readonly view: ViewName; readonly title: string }) => (
  <p class="path">
    <a href={hrefOf(view)}>{title}</a> ›
  </p>
)

/** The placeholder of an empty list. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) => (
  <div class="empty">
    <p class="title">{title}</p>
    {children}
  </div>
)

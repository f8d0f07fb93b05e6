import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { hrefOf, type ViewName } from '../live/route.js'
import { bytes } from './format.js'

const FIRST = 2000
const MORE = 64 * 1024

/** A text of somebody else: cut, with a way to see more of it. */
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

/** A command to paste. */
export const Command = ({ text }: { readonly text: string }) => {
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

/** The way back from one thing to all of its kind. */
export const Path = ({ view, title }: { readonly view: ViewName; readonly title: string }) => (
  <p class="path">
    <a href={hrefOf(view)}>{title}</a> ›
  </p>
)

/** What is shown where there is nothing to show. */
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

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hrefOf, type ViewName } from '../live/route.js'

export interface FilterProps {
  readonly view: ViewName
  readonly value: string
  readonly label: string
  /** The number of matches. */
  readonly children: ComponentChildren
}

/**
 * A filter field with its text in the address. The key `/` focuses it. While the user types, the field is
 * ahead of the address, and rendering must not restore the older text.
 */
export const Filter = ({ view, value, label, children }: FilterProps) => {
  const line = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (line.current !== null && line.current !== document.activeElement) line.current.value = value
  }, [view, value])
  return (
    <div class="filter">
      <input
        ref={line}
        id="filter"
        type="search"
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => location.replace(hrefOf(view, '', currentTarget.value))}
      />
      <span class="muted">{children}</span>
    </div>
  )
}

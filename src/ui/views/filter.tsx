import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hrefOf, type ViewName } from '../live/route.js'

export interface FilterProps {
  readonly view: ViewName
  readonly value: string
  readonly label: string
  /** What it comes to. */
  readonly children: ComponentChildren
}

/**
 * A line to filter a view by; its words stand in the address. The key `/` leads to it. While somebody types,
 * the line is ahead of the address: what is drawn meanwhile must not put back what stood there before.
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

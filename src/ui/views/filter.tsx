import type { ComponentChildren } from 'preact'
import { hrefOf, type ViewName } from '../live/route.js'

export interface FilterProps {
  readonly view: ViewName
  readonly value: string
  readonly label: string
  /** What it comes to. */
  readonly children: ComponentChildren
}

/** A line to filter a view by; its words stand in the address. The key `/` leads to it. */
export const Filter = ({ view, value, label, children }: FilterProps) => (
  <div class="filter">
    <input
      id="filter"
      type="search"
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={({ currentTarget }) => location.replace(hrefOf(view, '', currentTarget.value))}
    />
    <span class="muted">{children}</span>
  </div>
)

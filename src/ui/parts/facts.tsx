import type { ComponentChildren } from 'preact'

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names and values; a value that is undefined is left out. */
export const Facts = ({ all }: { readonly all: readonly Fact[] }) => (
  <dl class="facts">
    {all
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

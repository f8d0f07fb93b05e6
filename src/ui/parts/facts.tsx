import type { ComponentChildren } from 'preact'

export type Fact = readonly [name: string, value: ComponentChildren]

/** A list of names and values. Omits undefined values. */
export const FactList = ({ all }: { readonly all: readonly Fact[] }) => (
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

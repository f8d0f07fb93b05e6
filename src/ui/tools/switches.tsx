import { useState } from 'preact/hooks'
import type { ToolSwitchesView } from '../../control/api/tool-switches.js'
import { change, messageOf } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { useLoad } from '../parts/load.js'

type ToolSwitch = ToolSwitchesView['tools'][number]

/** Tools shown at first; servers may list thousands. */
const FIRST = 100

/** The tools of a server, each with a switch that changes `tools.deny` in the configuration file. */
export const ToolSwitches = ({ server, stamp }: { readonly server: string; readonly stamp: string }) => {
  const [count, setCount] = useState(0)
  const path = `servers/${encodeURIComponent(server)}/tools`
  const { value } = useLoad<ToolSwitchesView>(path, `${stamp} ${count}`)
  const [why, setWhy] = useState('')
  const onSwitch = ({ own, isEnabled }: ToolSwitch): void => {
    setWhy('')
    change(`${path}/${encodeURIComponent(own)}/${isEnabled ? 'disable' : 'enable'}`)
      .catch((thrown: unknown) => setWhy(messageOf(thrown)))
      .finally(() => setCount(n => n + 1))
  }
  return value === undefined ? null : <SwitchList view={value} why={why} onSwitch={onSwitch} />
}

/** The list of switches, and the error of the last one. @internal */
export const SwitchList = ({
  view: { canSwitch, tools },
  why,
  onSwitch,
}: {
  readonly view: ToolSwitchesView
  readonly why: string
  readonly onSwitch: (tool: ToolSwitch) => void
}) => {
  const [shown, setShown] = useState(FIRST)
  if (!canSwitch || tools.length === 0) return null
  return (
    <section aria-labelledby="switches">
      <h3 id="switches">Turn tools on or off</h3>
      <p class="muted">Changes are written to the configuration file and apply to all clients.</p>
      <p class="wrong" role="status">
        {why}
      </p>
      <ul class="switches">
        {tools.slice(0, shown).map((tool, n) => (
          <SwitchRow key={tool.own} id={`switch.${n}`} tool={tool} onSwitch={() => onSwitch(tool)} />
        ))}
      </ul>
      {tools.length > shown && (
        <button type="button" onClick={() => setShown(tools.length)}>
          Show {tools.length - shown} more
        </button>
      )}
    </section>
  )
}

const SwitchRow = ({
  id,
  tool: { own, name, isEnabled, why },
  onSwitch,
}: {
  readonly id: string
  readonly tool: ToolSwitch
  readonly onSwitch: () => void
}) => (
  <li>
    <input
      {...{ id, type: 'checkbox', role: 'switch', checked: isEnabled, disabled: why !== undefined }}
      aria-describedby={why && `${id}-why`}
      onChange={onSwitch}
    />
    <label class="name" for={id}>
      {own.slice(0, 128)}
    </label>
    {why !== undefined && (
      <span class="muted" id={`${id}-why`}>
        {why} (<a href={hrefOf('tools', name)}>details</a>)
      </span>
    )}
  </li>
)

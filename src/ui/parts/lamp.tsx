/** Signs and colors of states. */
const SIGNS: Readonly<Record<string, readonly [sign: string, tone: string]>> = {
  ready: ['●', 'good'],
  ok: ['●', 'good'],
  idle: ['○', 'calm'],
  disabled: ['○', 'calm'],
  cancelled: ['○', 'calm'],
  draining: ['◌', 'calm'],
  input_required: ['?', 'calm'],
  starting: ['◐', 'busy'],
  waiting: ['◐', 'busy'],
  server: ['◐', 'busy'],
  proxy: ['◐', 'busy'],
  task: ['◐', 'busy'],
  backoff: ['▲', 'odd'],
  tool_error: ['▲', 'odd'],
  odd: ['▲', 'odd'],
}

export const Lamp = ({ word, show = word }: { readonly word: string; readonly show?: string }) => {
  const [sign, tone] = SIGNS[word] ?? ['✕', 'bad']
  return (
    <span class={`lamp ${tone}`}>
      <span aria-hidden="true">{sign}</span> {show}
    </span>
  )
}

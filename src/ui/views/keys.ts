import { hrefOf, type Route, VIEWS } from '../live/route.js'

export const KEYS = [
  ['1 … 8', 'the views'],
  ['/', 'filter'],
  ['↑ ↓', 'from row to row; Enter opens'],
  ['r', 'restart the server in front (asks)'],
  ['p', 'pause the calls, and go on'],
  ['Esc', 'back'],
  ['?', 'this'],
] as const

/** What a key does: opens an address, clicks or enters something by its id; nothing while somebody types. */
type KeyAction =
  | { readonly open: string }
  | { readonly click: string }
  | { readonly focus: string }
  | undefined

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  '/': { focus: 'filter' },
  '?': { click: 'help' },
  r: { click: 'restart' },
  p: { click: 'pause' },
}

/** @internal */
export const actionOf = (key: string, route: Route, isTyping: boolean): KeyAction => {
  if (key === 'Escape' && isTyping) return { focus: 'main' }
  if (isTyping) return undefined
  if (key === 'Escape')
    return route.item !== undefined || route.filter !== '' ? { open: hrefOf(route.view) } : undefined
  const view = VIEWS[Number(key) - 1]
  return view === undefined ? ACTIONS[key] : { open: hrefOf(view.name) }
}

/**
 * Applies the keys of the page, except to what is typed, and to open dialogs: one that has just closed
 * keeps the focus until the browser draws again.
 */
export const onKey = (event: KeyboardEvent, route: Route): void => {
  const target = event.target as Element
  if (event.ctrlKey || event.altKey || event.metaKey || target.closest('dialog[open]') !== null) return
  const action = actionOf(event.key, route, target.matches('input, textarea, select'))
  if (action === undefined) return
  event.preventDefault()
  if ('open' in action) location.hash = action.open
  else if ('click' in action) document.getElementById(action.click)?.click()
  else document.getElementById(action.focus)?.focus()
}

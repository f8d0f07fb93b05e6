import { hrefOf, type PageRoute, VIEWS } from '../live/route.js'

export const KEYS = [
  ['1 … 8', 'the views'],
  ['/', 'filter'],
  ['↑ ↓', 'move between rows; Enter opens'],
  ['r', 'restart the current server (asks first)'],
  ['p', 'pause or resume the calls'],
  ['Esc', 'back'],
  ['?', 'this'],
] as const

/** The action of a key: open an address, or click or focus an element by id. None while the user types. */
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
export const actionOf = (key: string, route: PageRoute, isTyping: boolean): KeyAction => {
  if (key === 'Escape' && isTyping) return { focus: 'main' }
  if (isTyping) return undefined
  if (key === 'Escape')
    return route.item !== undefined || route.filter !== '' ? { open: hrefOf(route.view) } : undefined
  const view = VIEWS[Number(key) - 1]
  return view === undefined ? ACTIONS[key] : { open: hrefOf(view.name) }
}

/**
 * Handles the page's keys, except in text fields and dialogs. A dialog that was just closed keeps the focus
 * until the next frame.
 */
export const onKey = (event: KeyboardEvent, route: PageRoute): void => {
  const target = event.target as Element
  if (event.ctrlKey || event.altKey || event.metaKey || target.closest('dialog[open]') !== null) return
  const action = actionOf(event.key, route, target.matches('input, textarea, select'))
  if (action === undefined) return
  event.preventDefault()
  if ('open' in action) location.hash = action.open
  else if ('click' in action) document.getElementById(action.click)?.click()
  else document.getElementById(action.focus)?.focus()
}

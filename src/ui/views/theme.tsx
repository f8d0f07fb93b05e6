import { useState } from 'preact/hooks'

const THEMES = ['auto', 'light', 'dark'] as const
const NAMES = { auto: 'System', light: 'Light', dark: 'Dark' }
type Theme = (typeof THEMES)[number]

const KEY = 'theme'

/** Returns the stored theme, or the system's. @internal */
export const chosenTheme = (stored: string | null): Theme => THEMES.find(theme => theme === stored) ?? 'auto'

const applyTheme = (theme: Theme): void => {
  document.documentElement.dataset['theme'] = theme
}

export const ThemeSwitch = () => {
  const [theme, setTheme] = useState(() => chosenTheme(localStorage.getItem(KEY)))
  const choose = (next: Theme): void => {
    localStorage.setItem(KEY, next)
    applyTheme(next)
    setTheme(next)
  }
  return (
    <select
      aria-label="Colours"
      value={theme}
      onChange={({ currentTarget }) => choose(chosenTheme(currentTarget.value))}
    >
      {THEMES.map(one => (
        <option key={one} value={one}>
          {NAMES[one]}
        </option>
      ))}
    </select>
  )
}

/** Call before the first render. */
export const restoreTheme = (): void => applyTheme(chosenTheme(localStorage.getItem(KEY)))

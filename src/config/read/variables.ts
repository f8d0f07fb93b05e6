import type { Words } from '../file/problem.js'
import type { Item } from '../file/tree.js'
import type { Environment, Variable } from '../types.js'
import type { ReadContext } from './entry.js'

/** Why a text could not be expanded; holds names of variables, never values. */
type ExpansionFault =
  | { readonly is: 'unset'; readonly name: string }
  /** A `${` that begins none of the forms that we know. */
  | { readonly is: 'unknown-form' }

/** An expanded text, in which what cannot be expanded stays as it was. */
interface Expansion {
  readonly text: string
  readonly faults: readonly ExpansionFault[]
  readonly variables: readonly Variable[]
}

const PLACE = /\$\$\{|\$\{([^}]*)\}|\$\{/g
const FORM = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/

const lookUp = (name: string, env: Environment): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : undefined

/**
 * Replaces `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${env:VAR:-default}`; `$${` stands for `${`. As in
 * a shell, the default is for a variable that is unset or empty, and values are not expanded again.
 * @internal
 */
export function expand(text: string, env: Environment): Expansion {
  const faults: ExpansionFault[] = []
  const variables: Variable[] = []
  const replace = (all: string, inner: string | undefined): string => {
    if (all === '$${') return '${'
    const [, name, fallback] = FORM.exec(inner ?? '') ?? []
    if (name === undefined || fallback?.includes('${') === true) {
      faults.push({ is: 'unknown-form' })
      return all
    }
    const found = lookUp(name, env)
    const value = found === '' ? (fallback ?? found) : (found ?? fallback)
    if (value === undefined) faults.push({ is: 'unset', name })
    else variables.push({ name, value })
    return value ?? all
  }
  return { text: text.replace(PLACE, replace), faults, variables }
}

/** Replaces a `~` at the start of a path with the home folder; undefined if that is not known. @internal */
export function expandHome(path: string, env: Environment): string | undefined {
  if (!/^~(?:$|[/\\])/.test(path)) return path
  const home = lookUp('HOME', env) ?? lookUp('USERPROFILE', env)
  return home === undefined || home === '' ? undefined : home + path.slice(1)
}

/** Removes the defaults of variables, which may be secrets, for printing. */
export const withoutDefaults = (text: string): string =>
  text.replace(PLACE, (all, inner: string | undefined) => {
    const name = FORM.exec(inner ?? '')?.[1]
    return name === undefined ? all : `\${${name}}`
  })

/** Expands a text; what cannot be expanded is reported at `item`. */
export const expanded = (raw: string, item: Item, { env, report, variables }: ReadContext): string => {
  const { text, faults, variables: found } = expand(raw, env)
  variables.push(...found)
  for (const fault of faults) report.error(item, wordsFor(fault))
  if (text.includes('\0')) {
    report.error(item, {
      message: 'this holds a NUL character',
      mend: 'Remove it here or from its variable.',
    })
  }
  return text
}

/** The same for a text that must not be empty in the end. */
export const expandedWhole = (raw: string, item: Item, context: ReadContext): string => {
  const text = expanded(raw, item, context)
  if (text.trim() === '') {
    context.report.error(item, {
      message: 'nothing is left here once the variables are in place',
      mend: 'Check the variables that stand here.',
    })
  }
  return text
}

/** The same for a path that may begin with `~`. A `~` in the value of a variable is left alone. */
export const expandedPath = (item: Item, context: ReadContext): string => {
  const path = expandHome(String(item.node.value), context.env)
  if (path === undefined) {
    const words = {
      message: 'the home folder for "~" is not known',
      mend: 'Set HOME, or write the whole path.',
    }
    context.report.error(item, words)
  }
  return expandedWhole(path ?? '~', item, context)
}

// VS Code and Cursor replace these names; here they are variables like any other.
const EDITOR_NAMES = ['workspaceFolder', 'workspaceFolderBasename', 'userHome', 'pathSeparator']

const wordsFor = (fault: ExpansionFault): Words => {
  if (fault.is === 'unknown-form') {
    return {
      message: 'a "${" here begins no variable that is known',
      mend: 'Write ${NAME} or ${NAME:-default} for a variable, or $${ for the signs themselves.',
    }
  }
  return {
    message: `the variable ${fault.name} is not set`,
    mend: EDITOR_NAMES.includes(fault.name)
      ? 'Only an editor knows it: write the path itself.'
      : `Set it in the environment of the proxy, or write \${${fault.name}:-default}.`,
  }
}

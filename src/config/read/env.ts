import type { Environment, Variable } from '../types.js'

/** Why a text could not be expanded; holds names of variables, never values. */
export type ExpansionFault =
  | { readonly is: 'unset'; readonly name: string }
  /** A `${` that begins none of the forms that we know. */
  | { readonly is: 'unknown-form' }

/** An expanded text; what could not be expanded stands in it as it was. */
export interface Expansion {
  readonly text: string
  readonly faults: readonly ExpansionFault[]
  /** What came in. */
  readonly variables: readonly Variable[]
}

const PLACE = /\$\$\{|\$\{([^}]*)\}|\$\{/g
const FORM = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/

const lookUp = (name: string, env: Environment): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : undefined

/**
 * Replaces `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${env:VAR:-default}`; `$${` stands for `${`. As in a
 * shell, the default is for a variable that is unset or empty, and what came in is not expanded again.
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

/** Puts the home folder in place of a `~` at the start of a path; undefined when there is none to put. */
export function expandHome(path: string, env: Environment): string | undefined {
  if (!/^~(?:$|[/\\])/.test(path)) return path
  const home = lookUp('HOME', env) ?? lookUp('USERPROFILE', env)
  return home === undefined || home === '' ? undefined : home + path.slice(1)
}

/** A text with its variables, but without their defaults, which may be secrets; for printing. */
export const withoutDefaults = (text: string): string =>
  text.replace(PLACE, (all, inner: string | undefined) => {
    const name = FORM.exec(inner ?? '')?.[1]
    return name === undefined ? all : `\${${name}}`
  })

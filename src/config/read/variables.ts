import { resolve } from 'node:path'
import type { ProblemText } from '../file/problem.js'
import { readSmallFile } from '../file/small-file.js'
import type { TreeItem } from '../file/tree.js'
import type { Environment, Variable } from '../types.js'
import type { ReadContext, WorkspaceUse } from './entry.js'

/** A failed expansion; contains names of variables, never values. */
type ExpansionFault =
  | { readonly is: 'unset'; readonly name: string }
  | { readonly is: 'unread'; readonly path: string; readonly why: string }
  /** An unknown form after `${`. */
  | { readonly is: 'unknown-form' }

/** An expanded text; failed expansions stay unchanged. */
interface Expansion {
  readonly text: string
  readonly faults: readonly ExpansionFault[]
  readonly variables: readonly Pick<Variable, 'name' | 'value'>[]
}

const PLACE = /\$\$\{(?:\w*\})?|\$\{([^}]*)\}|\$\{/g
const FORM = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/
const FILE_FORM = /^file:(?!-)([\s\S]+)$/

/** Placeholders for the folder of a client, which are replaced when a server starts for it. */
const WORKSPACE_NAMES = ['workspaceFolder', 'workspaceFolderBasename', 'cwd']

/** Matches these placeholders in an expanded text; a second `$` escapes them. */
export const WORKSPACE_PLACE = new RegExp(`\\$?\\$\\{(${WORKSPACE_NAMES.join('|')})\\}`, 'g')

/** Escapes placeholders in a text that names no folder of a client. */
export const withoutWorkspace = (text: string): string => text.replace(WORKSPACE_PLACE, '$$$&')

const literal = (text: string, workspace: WorkspaceUse | undefined): string =>
  workspace === undefined ? text : withoutWorkspace(text)

const lookUp = (name: string, env: Environment): string | undefined => {
  if (Object.hasOwn(env, name)) return env[name]
  return name === 'userHome' ? expandHome('~', env) : undefined
}

/** As in a shell, the default applies to unset and empty variables. */
const valueFor = (name: string, fallback: string | undefined, env: Environment): string | undefined => {
  const found = lookUp(name, env)
  return found === '' ? (fallback ?? found) : (found ?? fallback)
}

/** Where `expand` finds values, besides the environment. */
interface ExpandOptions {
  /** Folder of relative paths in `${file:…}`. */
  readonly folder?: string
  readonly workspace?: WorkspaceUse | undefined
  /** Variables that precede the environment, except in `${env:VAR}`. */
  readonly own?: Environment | undefined
}

/**
 * Replaces `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${env:VAR:-default}`; `$${` becomes `${`. As in
 * a shell, the default is for a variable that is unset or empty, and values are not expanded again.
 * `${file:/path}` is the content of a file without its last line break, relative to `folder`.
 */
export function expand(
  text: string,
  env: Environment,
  { folder = '/', workspace, own = {} }: ExpandOptions = {},
): Expansion {
  const faults: ExpansionFault[] = []
  const variables: Pick<Variable, 'name' | 'value'>[] = []
  const readFile = (all: string, written: string): string => {
    const path = resolve(folder, expandHome(written, env) ?? written)
    const read = readSmallFile(path)
    if ('wrong' in read) {
      faults.push({ is: 'unread', path, why: read.wrong })
      return all
    }
    const value = read.text.replace(/\r?\n$/, '')
    variables.push({ name: `file:${written}`, value })
    return literal(value, workspace)
  }
  const readVariable = (all: string, inner: string): string => {
    const [, name, fallback] = FORM.exec(inner) ?? []
    if (name === undefined || fallback?.includes('${') === true) {
      faults.push({ is: 'unknown-form' })
      return all
    }
    if (workspace !== undefined && WORKSPACE_NAMES.includes(inner)) {
      workspace.isUsed = true
      return all
    }
    // These values are expanded already.
    if (Object.hasOwn(own, name) && !inner.startsWith('env:')) return valueFor(name, fallback, own) ?? ''
    const value = valueFor(name, fallback, env)
    if (value === undefined) faults.push({ is: 'unset', name })
    else variables.push({ name, value })
    return value === undefined ? all : literal(value, workspace)
  }
  const replace = (all: string, inner: string | undefined): string => {
    if (all.startsWith('$$')) return literal(all.slice(1), workspace)
    const file = FILE_FORM.exec(inner ?? '')?.[1]
    return file === undefined ? readVariable(all, inner ?? '') : readFile(all, file)
  }
  return { text: text.replace(PLACE, replace), faults, variables }
}

const VARIABLE = /\$?\$\{(?:env:)?[A-Za-z_]\w*(?::-[^}]*)?\}/g

/** Replaces variables that have a value or a default; other text stays. */
export const withKnownVariables = (text: string, env: Environment): string =>
  text.replace(VARIABLE, place => expand(place, env).text)

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

/** Expands a text; reports failed expansions at `item`. */
export const expanded = (raw: string, item: TreeItem, context: ReadContext): string => {
  const { env, report, variables, files, lacks, folder, workspace, own } = context
  const { text, faults, variables: found } = expand(raw, env, { folder, workspace, own })
  variables.push(...found)
  for (const { name } of found) {
    const file = /^file:(.*)$/s.exec(name)?.[1]
    if (file !== undefined) files.add(resolve(folder, expandHome(file, env) ?? file))
  }
  for (const fault of faults) {
    if (fault.is === 'unread') files.add(fault.path)
    if (lacks !== undefined && fault.is === 'unset' && !EDITOR_NAMES.includes(fault.name)) {
      lacks.push(fault.name)
      report.warning(item, waitText(fault.name))
    } else report.error(item, messageFor(fault))
  }
  if (text.includes('\0')) {
    report.error(item, {
      message: 'this contains a NUL character',
      fix: 'Remove it here or from its variable.',
    })
  }
  return text
}

/** The same for a text whose expansion must not be empty. */
export const expandedWhole = (raw: string, item: TreeItem, context: ReadContext): string => {
  const text = expanded(raw, item, context)
  if (text.trim() === '') {
    context.report.error(item, {
      message: 'this is empty after its variables are expanded',
      fix: 'Check the variables in it.',
    })
  }
  return text
}

/** The same for a path that may begin with `~`. A `~` in the value of a variable stays unchanged. */
export const expandedPath = (item: TreeItem, context: ReadContext): string => {
  const path = expandHome(String(item.node.value), context.env)
  if (path === undefined) {
    const words = {
      message: 'cannot expand "~": the home folder is unknown',
      fix: 'Set HOME, or write the whole path.',
    }
    context.report.error(item, words)
  }
  return expandedWhole(path ?? '~', item, context)
}

/** Reports a file that cannot be read. */
export const reportUnread = (
  item: TreeItem,
  { path, why }: { readonly path: string; readonly why: string },
  { report }: ReadContext,
): void => report.error(item, messageFor({ is: 'unread', path, why }))

const EDITOR_NAMES = [...WORKSPACE_NAMES, 'pathSeparator']

const waitText = (name: string): ProblemText => ({
  id: 'D020',
  facts: { variable: name },
  message: `the variable ${name} is not set, and the server waits for it`,
  fix: `Set it in the file of variables ("envFile"), or start a client that has it in its environment.`,
})

const messageFor = (fault: ExpansionFault): ProblemText => {
  if (fault.is === 'unknown-form') {
    return {
      message: 'invalid variable after "${"',
      fix: 'Write ${NAME} or ${NAME:-default} for a variable, or $${ for the signs themselves.',
    }
  }
  if (fault.is === 'unread') {
    return {
      id: 'D023',
      facts: { path: fault.path, why: fault.why },
      message: `the file ${fault.path} ${fault.why}`,
      fix: 'Create it, or write another path.',
    }
  }
  return {
    id: 'D020',
    facts: { variable: fault.name },
    message: `the variable ${fault.name} is not set`,
    fix: EDITOR_NAMES.includes(fault.name)
      ? 'Only an editor knows it: write the path itself.'
      : `Set it in the environment of the proxy, or write \${${fault.name}:-default}.`,
  }
}

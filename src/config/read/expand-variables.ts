import type { Words } from '../file/problem.js'
import type { Item } from '../file/tree.js'
import type { Around } from './entry.js'
import { type ExpansionFault, expand, expandHome } from './env.js'

/** A text with its variables in place; what cannot be put in place is reported at `item`. */
export const expanded = (raw: string, item: Item, { env, report, variables }: Around): string => {
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

/** The same for a text that must not end up empty. */
export const expandedWhole = (raw: string, item: Item, around: Around): string => {
  const text = expanded(raw, item, around)
  if (text.trim() === '') {
    around.report.error(item, {
      message: 'nothing is left here once the variables are in place',
      mend: 'Check the variables that stand here.',
    })
  }
  return text
}

/** The same for a path, which may begin with the home folder. A variable that holds a `~` is left alone. */
export const expandedPath = (item: Item, around: Around): string => {
  const path = expandHome(String(item.node.value), around.env)
  if (path === undefined) {
    const words = {
      message: 'the home folder for "~" is not known',
      mend: 'Set HOME, or write the whole path.',
    }
    around.report.error(item, words)
  }
  return expandedWhole(path ?? '~', item, around)
}

// Names that VS Code and Cursor fill in; here they would be variables like any other.
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

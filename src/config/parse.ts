import { dirname, resolve } from 'node:path'
import { createReport, type Report } from './file/problem.js'
import { readTree } from './file/syntax.js'
import { createLocator, type Item, repeated } from './file/tree.js'
import type { ReadContext } from './read/entry.js'
import { findServers } from './read/find-servers.js'
import { readServer } from './read/server.js'
import { readSettings } from './read/settings.js'
import type { DisabledServer, Environment, Loaded, ServerConfig } from './types.js'

/**
 * Resolves the text of a configuration file. Never throws: an invalid server is left out, an invalid setting
 * falls back to its default, and both are reported in `problems`.
 */
export function parseConfig(text: string, file: string, env: Environment): Loaded {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const report = createReport(file, createLocator(body))
  const root = readTree(body, report)
  if (root !== undefined) warnRepeated(root, report)
  const context: ReadContext = { text: body, folder: dirname(resolve(file)), env, report, variables: [] }
  const contents = root === undefined ? undefined : findServers(root, context)
  if (contents === undefined) return { config: undefined, problems: report.problems, disabled: [] }
  const settings = readSettings(contents.settings, context)
  const { servers, disabled } = readServers(contents.servers, context)
  const { variables } = context
  return { config: { servers, ...settings, variables }, problems: report.problems, disabled }
}

const warnRepeated = (root: Item, report: Report): void => {
  for (const item of repeated(root)) {
    report.nameWarning(item, {
      message: 'this key stands here a second time, and the last one wins',
      mend: 'Keep one of them.',
    })
  }
}

const readServers = (
  items: ReadonlyMap<string, Item>,
  context: ReadContext,
): { readonly servers: readonly ServerConfig[]; readonly disabled: readonly DisabledServer[] } => {
  const servers: ServerConfig[] = []
  const disabled: DisabledServer[] = []
  const prefixes = new Map<string, Item>()
  for (const [name, item] of items) {
    const read = readServer(name, item, context)
    if (read.is !== 'ready') {
      disabled.push({ name, why: read.is })
      continue
    }
    // Without a prefix a server's URIs begin with its name.
    const prefix = read.config.prefix === false ? name : (read.config.prefix ?? name)
    const other = prefixes.get(prefix)
    if (other !== undefined) {
      context.report.nameError(read.members.get('prefix') ?? item, {
        message: `${other.key} has the same prefix`,
        mend: 'Give one of the two servers another "prefix".',
      })
      disabled.push({ name, why: 'invalid' })
      continue
    }
    prefixes.set(prefix, item)
    servers.push(read.config)
  }
  return { servers, disabled }
}

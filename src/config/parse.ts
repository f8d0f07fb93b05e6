import { resolveConfig } from './resolve.js'
import { CHECKER } from './schema/check.js'
import type { Environment, Loaded } from './types.js'

/**
 * Resolves the text of a configuration file. Never throws: what is wrong with one server costs that server, what
 * is wrong beside the servers falls back to its default, and both are told in `problems`.
 */
export const parseConfig = (text: string, file: string, env: Environment): Loaded =>
  resolveConfig({ text, file, env }, CHECKER)

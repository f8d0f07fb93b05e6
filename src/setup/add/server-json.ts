import { transportTypeOf } from '../../config/schema/transport-type.js'
import { isObject } from '../../kernel/object.js'
import type { ContainerMembers } from '../edit/containers.js'
import { variableName } from '../import/escapes.js'
import type { ImportedEntry } from '../import/normalise.js'

/** A described server and its required variables. */
export interface Described {
  readonly entry: ImportedEntry
  /** Names that the entry references as `${NAME}`. */
  readonly inputs: readonly string[]
}

/** Runners of registry packages, with the version pinned. */
const RUNNERS: Readonly<
  Record<string, (id: string, version: string, env: readonly string[]) => readonly string[]>
> = {
  npm: (id, version) => ['npx', '-y', `${id}@${version}`],
  pypi: (id, version) => ['uvx', `${id}==${version}`],
  oci: (id, version, env) => [
    ...['docker', 'run', '-i', '--rm'],
    ...env.flatMap(name => ['-e', name]),
    /:[^/]*$|@/.test(id) || version === '' ? id : `${id}:${version}`,
  ],
}

const list = (value: unknown): readonly ContainerMembers[] =>
  Array.isArray(value) ? value.filter(isObject) : []
const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined

/**
 * Converts a server.json of the registry (schema of 2025-12-11): its first local stdio package, or else its
 * first address. Undefined if it has neither.
 */
export const describeServerJson = (root: ContainerMembers): Described | undefined => {
  const packages = list(root['packages'])
  const runnable = packages.find(each => runnerOf(each) !== undefined && transportOf(each) === 'stdio')
  if (runnable !== undefined) return describePackage(runnable)
  const remotes = list(root['remotes'])
  const remote = remotes.find(({ type }) => transportTypeOf(String(type)) === 'http') ?? remotes[0]
  return remote === undefined ? undefined : describeRemote(remote)
}

const runnerOf = ({ registryType }: ContainerMembers) => {
  const type = text(registryType) ?? ''
  return Object.hasOwn(RUNNERS, type) ? RUNNERS[type] : undefined
}

const transportOf = ({ transport }: ContainerMembers): string | undefined =>
  isObject(transport) ? text(transport['type']) : 'stdio'

const describePackage = (described: ContainerMembers): Described => {
  const inputs = new Set<string>()
  const env = list(described['environmentVariables']).flatMap(variable => {
    const name = text(variable['name'])
    const value = name === undefined ? undefined : valueOf(variable, variableName(name), inputs)
    return name === undefined || value === undefined ? [] : [[name, value] as const]
  })
  const names = env.map(([name]) => name)
  const run =
    runnerOf(described)?.(text(described['identifier']) ?? '', text(described['version']) ?? '', names) ?? []
  const before = argumentsOf(described['runtimeArguments'], inputs)
  // The runner's arguments precede the package name.
  const [command = '', ...args] = [...run.slice(0, -1), ...before, ...run.slice(-1)]
  const after = argumentsOf(described['packageArguments'], inputs)
  const own = { command, args: [...args, ...after] }
  return { entry: names.length === 0 ? own : { ...own, env: Object.fromEntries(env) }, inputs: [...inputs] }
}

const describeRemote = (remote: ContainerMembers): Described => {
  const inputs = new Set<string>()
  const headers = list(remote['headers']).flatMap(header => {
    const name = text(header['name'])
    const value = name === undefined ? undefined : valueOf(header, variableName(name), inputs)
    return name === undefined || value === undefined ? [] : [[name, value] as const]
  })
  const variables = isObject(remote['variables']) ? remote['variables'] : {}
  const url = withVariables(text(remote['url']) ?? '', variables, inputs)
  const own = { type: transportTypeOf(String(remote['type'])) === 'sse' ? 'sse' : 'http', url }
  return {
    entry: headers.length === 0 ? own : { ...own, headers: Object.fromEntries(headers) },
    inputs: [...inputs],
  }
}

const argumentsOf = (given: unknown, inputs: Set<string>): readonly string[] =>
  list(given).flatMap(each => {
    const name = text(each['name'])
    const hint = text(each['valueHint']) ?? name ?? 'ARGUMENT'
    const value = valueOf(each, variableName(hint), inputs)
    if (each['type'] !== 'named' || name === undefined) return value === undefined ? [] : [value]
    const isFlag = each['value'] === undefined && each['default'] === undefined && each['isRequired'] !== true
    if (value !== undefined) return [name, value]
    return isFlag && each['format'] === 'boolean' ? [name] : []
  })

/** Returns the given value, the default, or a variable to ask for; undefined for an optional value. */
const valueOf = (input: ContainerMembers, name: string, inputs: Set<string>): string | undefined => {
  const value = text(input['value'])
  const variables = isObject(input['variables']) ? input['variables'] : {}
  if (value !== undefined) return withVariables(value, variables, inputs)
  // A secret's default is only a placeholder.
  const usual = input['isSecret'] === true ? undefined : text(input['default'])
  if (usual !== undefined) return usual
  if (input['isRequired'] !== true) return undefined
  inputs.add(name)
  return `\${${name}}`
}

const withVariables = (value: string, variables: ContainerMembers, inputs: Set<string>): string =>
  value.replace(/\{([\w-]+)\}/g, (all, name: string) => {
    const variable = variables[name]
    return isObject(variable)
      ? (valueOf({ isRequired: true, ...variable }, variableName(name), inputs) ?? '')
      : all
  })

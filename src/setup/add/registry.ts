import { isObject } from '../../kernel/object.js'
import type { ContainerMembers } from '../edit/containers.js'
import { SetupError } from '../setup-error.js'

export const REGISTRY = 'https://registry.modelcontextprotocol.io'
const TIMEOUT_MS = 15_000
const MAX_BYTES = 1024 * 1024

/**
 * Fetches the newest server.json of a name such as `io.github.user/x`. Rejects with a SetupError if the
 * answer is unusable, and with the error of `fetch` if there is no answer.
 */
export const fetchServerJson = async (
  name: string,
  registry = REGISTRY,
  fetch = globalThis.fetch,
): Promise<ContainerMembers> => {
  const url = `${registry.replace(/\/$/, '')}/v0.1/servers/${encodeURIComponent(name)}/versions/latest`
  const byHand = `mcp-proxy add ${registryShortName(name)} -- COMMAND`
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
  if (response.status === 404)
    throw new SetupError(registry, `it does not list a server "${name}"`, 0, byHand)
  if (!response.ok) throw new SetupError(registry, `the registry answered with ${response.status}`)
  const value = parse(await bounded(response, registry), registry)
  const server = isObject(value) && isObject(value['server']) ? value['server'] : value
  if (isObject(server)) return server
  throw new SetupError(registry, 'the registry answered with something else than a server')
}

/** Returns the last part of a registry name. */
export const registryShortName = (name: string): string => name.split('/').at(-1) ?? name

const bounded = async (response: Response, registry: string): Promise<string> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > MAX_BYTES) throw new SetupError(registry, 'the answer of the registry is longer than 1 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const parse = (text: string, registry: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new SetupError(registry, 'the answer of the registry is not JSON')
  }
}

import { editMember, mayContain } from '../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  mapElements,
  mapInElements,
  memberOf,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import type { ListName } from '../../model/listing.js'

/** Translates a URI from the server's own to the exposed form, or back. */
export type UriMap = (uri: string) => string

interface ExposedAs {
  readonly name?: string | undefined
  /** Translates the URIs of resources, templates and tool interfaces. */
  readonly uri?: UriMap | undefined
}

type Rewrite = (text: JsonText, map: UriMap) => JsonText

const mapped = (text: JsonText, map: UriMap): JsonText => {
  const uri = stringOf(text)
  if (uri === undefined) return text
  const other = map(uri)
  return other === uri ? text : textOf(other)
}

const mapMember = (object: JsonText, key: string, map: UriMap): JsonText =>
  editMember(object, key, uri => mapped(uri, map))

/** A content block that links or embeds a resource (server/tools, "Resource Links", "Embedded Resources"). */
const mapBlock: Rewrite = (block, map) => {
  const type = stringOf(memberOf(block, 'type'))
  if (type === 'resource_link') return mapMember(block, 'uri', map)
  return type === 'resource'
    ? editMember(block, 'resource', resource => mapMember(resource, 'uri', map))
    : block
}

/** The interface of a tool (SEP-1865). SDKs also write the older flat key, or the key of OpenAI's Apps. */
const mapInterface: Rewrite = (holder, map) =>
  editMember(holder, '_meta', meta => {
    const nested = editMember(meta, 'ui', ui => mapMember(ui, 'resourceUri', map))
    return mapMember(mapMember(nested, 'ui/resourceUri', map), 'openai/outputTemplate', map)
  })

const mapUris = (holder: JsonText, key: string, map: UriMap): JsonText =>
  editMember(holder, key, list => mapInElements(list, 'uri', uri => mapped(uri, map)))

/** A skill names its own files (ext-skills, SEP-2640). */
const mapSkill: Rewrite = (skill, map) => mapUris(mapMember(skill, 'uri', map), 'resources', map)

/** Returns the URIs of the files that a skill names. */
export const skillFiles = (skill: JsonText): readonly string[] => {
  const uris: string[] = []
  mapUris(skill, 'resources', uri => {
    uris.push(uri)
    return uri
  })
  return uris
}

const mapContents = (result: JsonText, key: string, map: Rewrite, uri: UriMap): JsonText =>
  editMember(result, key, list => mapElements(list, element => map(element, uri)))

/** A message holds one block; some servers send an array, which no revision allows. */
const mapMessage: Rewrite = (message, map) =>
  editMember(message, 'content', content =>
    kindOf(content) === 'array'
      ? mapElements(content, block => mapBlock(block, map))
      : mapBlock(content, map),
  )

const RESULTS: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ['tools/call', (result, map) => mapInterface(mapContents(result, 'content', mapBlock, map), map)],
  ['prompts/get', (result, map) => mapContents(result, 'messages', mapMessage, map)],
  ['resources/read', (result, map) => mapUris(result, 'contents', map)],
  ['skills/get', (result, map) => editMember(result, 'skill', skill => mapSkill(skill, map))],
  ['resources/directory/read', (result, map) => mapUris(result, 'resources', map)],
])

const mapUri: Rewrite = (params, map) => mapMember(params, 'uri', map)

const PARAMS: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ['resources/read', mapUri],
  ['resources/subscribe', mapUri],
  ['resources/unsubscribe', mapUri],
  ['notifications/resources/updated', mapUri],
  ['completion/complete', (params, map) => editMember(params, 'ref', ref => mapUri(ref, map))],
])

/** Keys of interfaces for `mayContain`, nested or flat. */
const INTERFACE_KEYS = ['resourceUri"', 'outputTemplate"']
const URI_KEYS = ['"uri"', ...INTERFACE_KEYS]

/** Translates the URIs in a result; returns the same reference if there are none. */
export const rewriteUris = (method: string, result: JsonText, map: UriMap): JsonText => {
  const rewrite = RESULTS.get(method)
  return rewrite !== undefined && mayContain(result, ...URI_KEYS) ? rewrite(result, map) : result
}

/** Translates the URIs in params; returns the same reference if there are none. @internal */
export const rewriteParams = (method: string, params: JsonText, map: UriMap): JsonText => {
  const rewrite = PARAMS.get(method)
  return rewrite !== undefined && mayContain(params, ...URI_KEYS) ? rewrite(params, map) : params
}

/** Sets an item's exposed name and URIs; returns the same reference if nothing changes. */
export const rewriteItem = (list: ListName, item: JsonText, { name, uri }: ExposedAs): JsonText => {
  switch (list) {
    case 'tools': {
      const tool = uri !== undefined && mayContain(item, ...INTERFACE_KEYS) ? mapInterface(item, uri) : item
      return named(tool, name)
    }
    case 'prompts':
      return named(item, name)
    case 'resources':
      return uri === undefined ? item : mapMember(item, 'uri', uri)
    case 'templates':
      return uri === undefined ? item : mapMember(item, 'uriTemplate', uri)
    case 'skills':
      return uri === undefined ? item : mapSkill(item, uri)
  }
}

const named = (item: JsonText, name: string | undefined): JsonText =>
  name === undefined || stringOf(memberOf(item, 'name')) === name
    ? item
    : withMember(item, 'name', textOf(name))

// The maps of the rooms in src/README.md and docs/architecture.md, from config/layers.json and the READMEs.
import { readFile } from 'node:fs/promises'
import { table } from './markdown.mjs'

const root = new URL('../../', import.meta.url)

/** Resolves to the imports that each room and sub-room may have, by path, in the order of the file. */
const readLayers = async () => JSON.parse(await readFile(new URL('config/layers.json', root), 'utf8'))

const isRoom = path => !path.includes('/')
const code = names => names.map(name => `\`${name}\``).join(' ')

/** Returns the names of the folders in a room. */
const floorsOf = (layers, room) =>
  Object.keys(layers)
    .filter(path => path.startsWith(`${room}/`) && path.split('/').length === room.split('/').length + 1)
    .map(path => path.slice(room.length + 1))

/** Resolves to the first sentence of a room's README. */
const purposeOf = async room => {
  const text = await readFile(new URL(`src/${room}/README.md`, root), 'utf8')
  const [, paragraph = ''] = text.split('\n\n')
  const [sentence = ''] = /^.*?\.(?=\s|$)/s.exec(paragraph) ?? [paragraph]
  return sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
}

/** Resolves to a table of all rooms, lowest first, with their purpose and their imports. */
export const roomTable = async () => {
  const layers = await readLayers()
  const rows = Object.keys(layers)
    .filter(isRoom)
    .map(async room => [
      code([room]),
      await purposeOf(room),
      code(floorsOf(layers, room)),
      code(layers[room]),
    ])
  return table(['Room', 'Purpose', 'Sub-rooms, lowest first', 'May import'], await Promise.all(rows))
}

/** Resolves to a table of levels, highest first: a room is above all rooms that it may import. */
export const floorPlan = async () => {
  const layers = await readLayers()
  const rooms = Object.keys(layers).filter(isRoom)
  const levels = new Map()
  for (const room of rooms) levels.set(room, 1 + Math.max(0, ...layers[room].map(below => levels.get(below))))
  const top = Math.max(...levels.values())
  const rows = Array.from({ length: top }, (_, at) => top - at).map(level => [
    String(level),
    rooms
      .filter(room => levels.get(room) === level)
      .map(room => {
        const floors = floorsOf(layers, room)
        return floors.length === 0 ? code([room]) : `${code([room])} (${floors.join(', ')})`
      })
      .join('; '),
  ])
  return table(['Level', 'Rooms, and the sub-rooms in them'], rows)
}

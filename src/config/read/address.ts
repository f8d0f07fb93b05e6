import type { TreeItem } from '../file/tree.js'
import type { ReadContext } from './entry.js'

/** An address to listen on, or to be reached at. */
export interface Address {
  readonly host: string
  readonly port: number
}

const ADDRESS = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i
const MOST_PORT = 65_535

/** Reads `HOST:PORT` from an expanded text; reports anything else. */
export const readAddress = (
  text: string,
  item: TreeItem,
  { context: { report }, fix }: { readonly context: ReadContext; readonly fix: string },
): Address | undefined => {
  const parts = ADDRESS.exec(text)
  const port = Number(parts?.[3])
  if (parts !== null && port <= MOST_PORT) return { host: parts[1] ?? parts[2] ?? '', port }
  report.error(item, { message: 'this is not an address with a port', fix })
  return undefined
}

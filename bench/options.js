// Command line options.
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    slices: { type: 'string' },
    'slice-ms': { type: 'string', default: '400' },
  },
})

export const isFull = values.full
export const withPeers = values.peers || values.full
export const slices = Number(values.slices ?? (isFull ? 5 : 3))
export const sliceMs = Number(values['slice-ms'])
export const jsonFile = values.json

/**
 * Returns whether `--only` selects a name; without it, whether the name is in the short run or `--full` was
 * given.
 */
export const isWanted = (name, isOnlyFull = false) =>
  values.only === undefined ? isFull || !isOnlyFull : values.only.some(text => name.includes(text))

import { isIP } from 'node:net'

/** A range of addresses, as `net.BlockList` takes it. */
export type Network = readonly [address: string, bits: number, kind: 'ipv4' | 'ipv6']

/** Parses an address, or a network in CIDR notation such as `10.0.0.0/8`; undefined for any other text. */
export const parseNetwork = (text: string): Network | undefined => {
  const [address = '', written, ...rest] = text.trim().split('/')
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  const isBits = written === undefined || (/^\d{1,3}$/.test(written) && Number(written) <= most)
  if (version === 0 || !isBits || rest.length > 0) return undefined
  return [address, Number(written ?? most), version === 4 ? 'ipv4' : 'ipv6']
}

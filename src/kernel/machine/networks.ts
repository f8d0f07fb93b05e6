import { isIP } from 'node:net'

/** A range of addresses, as `net.BlockList` takes it. */
export type Network = readonly [address: string, bits: number, kind: 'ipv4' | 'ipv6']

/** Parses an address, or a network in CIDR notation such as `10.0.0.0/8`; undefined for any other text. */
export const parseNetwork = (text: string): Network | undefined => {
  const [address = '', written, ...rest] = text.trim().split('/')
  const mapped = unmapped(address)
  if (mapped !== address) {
    // The first 96 bits of a mapped address are the same for all.
    const bits = written === undefined ? 32 : Number(written) - 96
    return parseNetwork(`${mapped}/${bits}`)
  }
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  const isBits = written === undefined || (/^\d{1,3}$/.test(written) && Number(written) <= most)
  if (version === 0 || !isBits || rest.length > 0) return undefined
  return [address, Number(written ?? most), version === 4 ? 'ipv4' : 'ipv6']
}

const MAPPED = /^::ffff:(?:([\d.]+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i

/** Returns the IPv4 address in an address that is mapped to IPv6 (RFC 4291 §2.5.5.2); others unchanged. */
export const unmapped = (address: string): string => {
  const [, dotted, high, low] = MAPPED.exec(address) ?? []
  if (dotted !== undefined || high === undefined || low === undefined) return dotted ?? address
  const bytes = [high, low].flatMap(part => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255])
  return bytes.join('.')
}

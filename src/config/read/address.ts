import { socketPathOf } from '../../kernel/socket-path.js'
import type { Words } from '../file/problem.js'
import type { UrlTransport } from '../types.js'

/** How the server behind an address is reached, or what is wrong with the address; the words never repeat it. */
export type Address =
  | { readonly is: 'url'; readonly kind: UrlTransport['kind'] }
  | { readonly is: 'socket'; readonly path: string }
  | { readonly is: 'wrong'; readonly words: Words }

const SCHEMES = {
  auto: ['http:', 'https:'],
  http: ['http:', 'https:'],
  sse: ['http:', 'https:'],
  ws: ['ws:', 'wss:'],
} as const satisfies Record<UrlTransport['kind'], readonly string[]>

const NO_ADDRESS: Words = {
  message: 'this is not the address of a server',
  mend: 'Write a whole address, such as "https://example.com/mcp".',
}

const NO_SOCKET: Words = {
  message: 'this is not the address of a socket',
  mend: 'Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe.',
}

const UNKNOWN_SCHEME: Words = {
  message: 'no server can be reached by an address that begins like this',
  mend: 'Write an address that begins with "http://", "https://", "ws://", "wss://", "unix:/" or "pipe:///".',
}

const isSocketUrl = (url: string): boolean => /^(?:unix|pipe):/i.test(url)

/** Reads an address; `type` is the transport that somebody pinned, undefined leaves it to the address. */
export const readAddress = (url: string, type: UrlTransport['kind'] | undefined): Address => {
  if (type === undefined && isSocketUrl(url)) {
    const path = socketPathOf(url)
    return path === undefined ? { is: 'wrong', words: NO_SOCKET } : { is: 'socket', path }
  }
  if (!URL.canParse(url)) return { is: 'wrong', words: NO_ADDRESS }
  const { protocol } = new URL(url)
  const speaks = (kind: UrlTransport['kind']): boolean =>
    (SCHEMES[kind] as readonly string[]).includes(protocol)
  if (type === undefined) {
    const kind = (['auto', 'ws'] as const).find(speaks)
    return kind === undefined ? { is: 'wrong', words: UNKNOWN_SCHEME } : { is: 'url', kind }
  }
  if (speaks(type)) return { is: 'url', kind: type }
  const schemes = SCHEMES[type].map(scheme => `"${scheme}//"`).join(' or ')
  return {
    is: 'wrong',
    words: {
      message: `a server of type "${type}" has an address that begins with ${schemes}`,
      mend: 'Change the address or "type".',
    },
  }
}

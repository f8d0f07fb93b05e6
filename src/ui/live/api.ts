import { createReader, type StreamEvent } from './events.js'

/** An error response of the proxy, with its message. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Silence after which a stream counts as dead: the proxy sends a keep-alive every 15 s. */
const SILENCE_MS = 40_000

/** The header with this tab's half of the credential, and its key in the tab's storage. */
const SECRET = 'x-mcp-proxy-secret'

const send = async (path: string, options: RequestInit = {}): Promise<Response> => {
  const headers = {
    'x-mcp-proxy': '1',
    [SECRET]: sessionStorage[SECRET] as string,
    ...(options.headers as Record<string, string> | undefined),
  }
  const response = await fetch(`../api/v1/${path}`, { ...options, headers })
  if (response.ok) return response
  throw new Refusal(response.status, wordsIn(await response.text()) ?? `HTTP ${response.status}`)
}

const wordsIn = (body: string): string | undefined => {
  try {
    return (JSON.parse(body) as { error?: string }).error
  } catch {
    return undefined
  }
}

/** Sends a GET request. Rejects with a Refusal, or with the error of `fetch` if the proxy is unreachable. */
export const read = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await (await send(path, signal && { signal })).json()) as T

/** Sends a POST request and returns the answer. Rejects like `read`. */
export const change = async <T = void>(path: string, body: object = {}): Promise<T> =>
  (await (await send(path, { method: 'POST', body: JSON.stringify(body) })).json()) as T

/** Key of the command that starts the proxy's program, in the tab's storage. */
const COMMAND = 'command'

/** Exchanges a code for the credential of this tab. Rejects like `read`. */
export const logInToPage = async (code: string): Promise<void> => {
  const { secret, command } = await change<{ readonly secret: string; readonly command: string }>('login', {
    code,
  })
  sessionStorage[SECRET] = secret
  sessionStorage[COMMAND] = command
}

/** Matches the commands in texts, but not the program name in a sentence. */
const ADVICE =
  /mcp-proxy (?=(init|add|install|enable|connect|daemon|service|auth|status|why|logs|ui|list|doctor|check)\b)/g

/** Replaces `mcp-proxy` in commands, because the shell may not find it. */
export const withOwnCommand = (text: string): string =>
  text.replace(ADVICE, match => (sessionStorage[COMMAND] ? `${sessionStorage[COMMAND]} ` : match))

/** Follows an event stream to its end. Rejects like `read`, and when the stream breaks or falls silent. */
export const followEvents = async (
  path: string,
  onEvent: (told: StreamEvent) => void,
  options: Omit<RequestInit, 'headers' | 'signal'> & { readonly signal: AbortSignal },
): Promise<void> => {
  const silence = new AbortController()
  const signal = AbortSignal.any([options.signal, silence.signal])
  const { body } = await send(path, { ...options, signal, headers: { accept: 'text/event-stream' } })
  const feed = createReader(onEvent)
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  if (reader === undefined) return
  for (;;) {
    const timer = setTimeout(() => silence.abort(new Error('the proxy stopped sending data')), SILENCE_MS)
    const { done, value } = await reader.read().finally(() => clearTimeout(timer))
    if (done) return
    feed(decoder.decode(value, { stream: true }))
  }
}

export const isGone = (thrown: unknown): boolean => thrown instanceof Refusal && thrown.status === 401

export const messageOf = (thrown: unknown): string =>
  thrown instanceof Refusal ? thrown.message : 'the proxy does not answer'

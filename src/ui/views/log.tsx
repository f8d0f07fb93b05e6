import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { followEvents } from '../live/api.js'
import { clockTime } from '../parts/format.js'
import { joined, type Repeated } from '../parts/repeats.js'
import { LongText } from '../parts/text.js'

/** Lines read at first and kept. */
const FIRST = 200
const KEPT = 500
/** Delay before reconnecting to a lost log. */
const RETRY_MS = 5000

export interface LogLine {
  readonly key: string
  readonly time: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
}

const LEVELS = [
  [50, 'error'],
  [40, 'warn'],
  [30, 'info'],
] as const

/** Parses a log line into a program's stderr or a message of the proxy. @internal */
export const logLine = (key: string, data: string): LogLine => {
  try {
    const { time, level, msg, stderr, why } = JSON.parse(data) as Readonly<Record<string, unknown>>
    const word = LEVELS.find(([least]) => Number(level) >= least)?.[1] ?? 'debug'
    const at = new Date(typeof time === 'number' ? time : String(time))
    const said =
      typeof stderr === 'string' ? stderr : [msg, why].filter(one => typeof one === 'string').join(': ')
    return {
      key,
      time: Number.isNaN(at.getTime()) ? '' : clockTime(at.toISOString()),
      level: word,
      text: said,
    }
  } catch {
    return { key, time: '', level: 'info', text: data }
  }
}

/** Keeps only the newest of repeated lines. @internal */
export const joinedLines = (lines: readonly LogLine[]): readonly Repeated<LogLine>[] =>
  joined([...lines].reverse(), ({ level, text }) => level + text).reverse()

/** Follows the log lines of a server. Reports if there are no more for now. */
const useLines = (server: string) => {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const abort = new AbortController()
    let [waiting, frame]: [LogLine[], number] = [[], 0]
    let isAnew = false
    let retry: ReturnType<typeof setTimeout> | undefined
    const flush = (): void => {
      const [fresh, wasAnew] = [waiting, isAnew]
      ;[waiting, frame, isAnew] = [[], 0, false]
      setLines(before => [...(wasAnew ? [] : before), ...fresh].slice(-KEPT))
    }
    // A restarted proxy sends its log from the beginning.
    const read = async (): Promise<void> => {
      isAnew = true
      await followEvents(
        `logs?server=${encodeURIComponent(server)}&tail=${FIRST}`,
        ({ data, id }) => {
          waiting.push(logLine(id ?? '', data))
          if (waiting.length > KEPT) waiting.shift()
          if (frame === 0) frame = requestAnimationFrame(flush)
        },
        { signal: abort.signal },
      ).catch(() => undefined)
      if (abort.signal.aborted) return
      setOver(true)
      retry = setTimeout(() => void read(), RETRY_MS)
    }
    void read()
    return () => {
      abort.abort()
      clearTimeout(retry)
      cancelAnimationFrame(frame)
    }
  }, [server])
  return { lines, isOver }
}

/** Shows the last lines about a server, and new ones. `last` is the fallback without kept lines. */
export const Log = ({ server, last }: { readonly server: string; readonly last: readonly string[] }) => {
  const { lines, isOver } = useLines(server)
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // Follow new lines only if the reader is at the end.
  useLayoutEffect(() => {
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  const onScroll = ({
    currentTarget: { scrollTop, scrollHeight, clientHeight },
  }: {
    readonly currentTarget: HTMLElement
  }): void => {
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
  }
  const shown =
    lines.length > 0
      ? lines
      : last.map((text, n): LogLine => ({ key: `${n}`, time: '', level: 'info', text }))
  if (shown.length === 0) return <p class="muted">{isOver ? 'No log.' : 'Nothing is logged yet.'}</p>
  return (
    <div class="log" ref={box} onScroll={onScroll} role="group" aria-label={`Log of ${server}`} tabIndex={0}>
      {joinedLines(shown).map(({ key, time, level, text, times }) => (
        <p key={key} class={level}>
          <span class="muted">{time}</span> {times > 1 && <span class="tag">{times} ×</span>}{' '}
          <LongText text={text} first={400} />
        </p>
      ))}
    </div>
  )
}

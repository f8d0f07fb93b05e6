import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { CliError } from '../verb.js'
import { printToStderr } from './output.js'
import { shownText } from './signs.js'
import { wrapped, wrappedText } from './wrap.js'

/** Returns whether stdin and stderr are terminals; otherwise verbs ask no questions. */
export const isInteractive = (): boolean => process.stdin.isTTY && process.stderr.isTTY

const INTERRUPTED = 130

/** Exit codes as shells assign them; the full list is in `app/shutdown.ts`. */
const STOPS = { SIGINT: INTERRUPTED, SIGTERM: 143, SIGHUP: 129 } as const
const SIGNALS = Object.keys(STOPS) as (keyof typeof STOPS)[]

interface Waiting {
  readonly answer: (line: string) => void
  readonly stop: (thrown: unknown) => void
}

/** The only dialogue on stderr of this process. It keeps typed-ahead lines as the next answers. */
class Dialogue {
  #isHidden = false
  #isOver = false
  #waiting: Waiting | undefined
  readonly #ahead: string[] = []
  readonly #lines = createInterface({
    input: process.stdin,
    output: new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (this.#isHidden) done()
        else process.stderr.write(chunk, done)
      },
    }),
    terminal: true,
    historySize: 0,
  })

  constructor() {
    this.#lines.on('line', line => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting === undefined) this.#ahead.push(line)
      else waiting.answer(line)
    })
    this.#lines.on('SIGINT', () => {
      // Between two questions, Ctrl-C is for the verb's own signal handler.
      if (this.#waiting === undefined) process.kill(process.pid, 'SIGINT')
      else this.#waiting.stop(STOPPED)
    })
    this.#lines.on('close', () => {
      this.#isOver = true
      this.#waiting?.stop(STOPPED)
    })
  }

  async ask(question: string, isHidden: boolean): Promise<string> {
    if (isHidden) process.stderr.write(question)
    this.#isHidden = isHidden
    const release = this.#stopOnSignals()
    try {
      const line = await this.#line(isHidden ? '' : question)
      if (isHidden) process.stderr.write('\n')
      return line.trim()
    } catch (thrown) {
      process.stderr.write('\n')
      throw thrown
    } finally {
      release()
      this.#waiting = undefined
      this.#isHidden = false
    }
  }

  /** A terminal sends Ctrl-C as a key; other programs send signals. */
  #stopOnSignals(): () => void {
    const stop = (signal: keyof typeof STOPS): void =>
      this.#waiting?.stop(new CliError(STOPS[signal], STOPPED.message))
    for (const signal of SIGNALS) process.on(signal, stop)
    return () => {
      for (const signal of SIGNALS) process.off(signal, stop)
    }
  }

  #line(question: string): Promise<string> {
    return new Promise((answer, stop) => {
      this.#lines.setPrompt(question)
      this.#lines.prompt()
      const ahead = this.#ahead.shift()
      if (ahead !== undefined) {
        if (!this.#isHidden) process.stderr.write('\n')
        answer(ahead)
      } else if (this.#isOver) stop(STOPPED)
      else this.#waiting = { answer, stop }
    })
  }
}

const STOPPED = new CliError(INTERRUPTED, 'stopped: nothing more was written')

let dialogue: Dialogue | undefined

/** Asks on stderr. Rejects with a CliError at Ctrl-C or when stdin ends. */
export const askUser = async (question: string, isHidden = false): Promise<string> => {
  dialogue ??= new Dialogue()
  return await dialogue.ask(shownText(question), isHidden)
}

/** Asks a yes/no question; Enter means yes. */
export const confirm = async (question: string): Promise<boolean> => {
  for (;;) {
    const answer = await askUser(wrappedText(`${question} [Y/n] `))
    if (/^(?:y|yes)?$/i.test(answer)) return true
    if (/^(?:n|no)$/i.test(answer)) return false
    printToStderr('  enter y or n')
  }
}

/** Parses the list numbers of an answer into indices; undefined for invalid answers. @internal */
export const readNumbers = (answer: string, count: number): readonly number[] | undefined => {
  const words = answer.split(/[\s,]+/).filter(word => word !== '')
  const found = words.map(word => (/^\d{1,4}$/.test(word) ? Number(word) - 1 : -1))
  return words.length > 0 && found.every(at => at >= 0 && at < count) ? [...new Set(found)] : undefined
}

/** A list from which the user chooses some, all or no items. */
interface Choice<T> {
  readonly title: string
  readonly items: readonly T[]
  readonly labelOf: (item: T) => string
  readonly question: string
  /**
   * Other answers, each with a letter, a meaning and an action. The question is repeated after the action.
   */
  readonly others?: readonly (readonly [letter: string, meaning: string, work: () => void])[]
}

/**
 * Shows a numbered list and asks: Enter takes all, numbers take some, n takes none. Rejects as `ask` does.
 */
export const choose = async <T>(choice: Choice<T>): Promise<readonly T[]> => {
  const { title, items, labelOf, question, others = [] } = choice
  const labels = items.map((item, at) => `${at + 1} ${labelOf(item)}`)
  const isLong = labels.some(label => label.length > LABEL_MAX)
  printToStderr(
    isLong
      ? [title, ...labels.map(label => wrappedText(`  ${label}`, { indent: '    ' }))].join('\n')
      : wrapped([title, ...labels], { separator: '  ' }),
  )
  const answers = ['Y/n', `numbers such as ${items.length > 1 ? '1 2' : '1'}`]
  for (const [letter, meaning] of others) answers.push(`${letter} ${meaning}`)
  const [first = '', ...words] = question.split(' ')
  const [usual = '', ...more] = answers
  const parts = [
    `  ${first}`,
    ...words,
    ...[`[${usual}`, ...more].map((each, at) => `${each}${at < more.length ? ',' : ''}`),
  ]
  const letters = others.map(([letter]) => `${letter}, `).join('')
  for (;;) {
    const answer = await askUser(`${wrapped(parts)}] `)
    if (/^(?:y|yes|all)?$/i.test(answer)) return items
    if (/^(?:n|no|none)$/i.test(answer)) return []
    const numbers = readNumbers(answer, items.length)
    if (numbers !== undefined) return items.filter((_, at) => numbers.includes(at))
    const other = others.find(([letter]) => letter === answer.toLowerCase())
    if (other !== undefined) other[2]()
    else printToStderr(`  enter y, n, ${letters}or numbers from 1 to ${items.length}`)
  }
}

/** Maximum characters of a label that shares its line. */
const LABEL_MAX = 30

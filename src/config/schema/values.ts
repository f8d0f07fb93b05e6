import { z } from 'zod'

/**
 * When a running proxy applies a new value (docs/configuration.md#changes-while-the-proxy-runs).
 * A `reshown` or `retuned` server keeps running; a `replaced` server starts again.
 */
type Reload = 'live' | 'restart' | 'reshown' | 'retuned' | 'replaced'

declare module 'zod' {
  interface GlobalMeta {
    reload?: Reload
    /** The name in the resolved configuration, if it is not the key; durations end in `Ms`. */
    as?: string
    /** The shortest duration that is valid. */
    leastMs?: number
    /** Set by `plain`. */
    isPlain?: true
    /** The effect of reaching a limit. */
    reached?: string
  }
}

/**
 * A key whose value goes into the resolved configuration as it is, a duration in milliseconds.
 * The build derives its type, default, reading and reload class (settings-code.ts).
 */
export const plain = <T extends z.ZodType>(
  schema: T,
  meta: z.GlobalMeta & { readonly description: string; readonly reload: Reload; readonly default?: unknown },
) => schema.optional().meta({ ...meta, isPlain: true })

// The error text of a schema is the fix, in one sentence. `validate.ts` adds the problem.

export const text = (fix: string) => z.string({ error: fix }).min(1, { error: fix })

/** A list of texts; the reader checks each. */
export const anyTexts = (error: string) => z.array(z.string({ error }), { error })

/** No white space at the start or end, where it is hard to see and matches nothing. */
const TRIMMED = /^\S(?:[\s\S]*\S)?$/

/** A list of texts, none of which is empty. */
export const texts = (fix: string) => words(fix, TRIMMED)

/** A list of words of a form, such as host names. */
export const words = (fix: string, form = /^\S+$/) =>
  z.array(text(fix).regex(form, { error: fix }), { error: fix })

/** A pattern of names, as the name of a member. */
export const glob = (example: string) => {
  const error = `Use a pattern of 1 to 200 characters without spaces around it, such as "${example}".`
  return z.string({ error }).regex(/^(?!\s)[\s\S]{1,200}(?<!\s)$/, { error })
}

/** A list of patterns of names. */
export const globs = (example: string) => {
  const error = `Write a list of patterns, each of 1 to 200 characters without spaces around it, such as ["${example}"].`
  return z.array(z.string({ error }).min(1, { error }).max(200, { error }).regex(TRIMMED, { error }), {
    error,
  })
}

export const flag = () => z.boolean({ error: 'Write true or false, without quotes.' })

const DURATION = /^\d+(\.\d+)?(ms|s|m|h)$/
const durationFix = 'Write a number with its unit in quotes, such as "500ms", "30s", "5m" or "1h".'
const limitFix = 'Write a number with its unit in quotes, such as "30s", "5m" or "1h", or "off".'
const duration = (fix: string, form: RegExp) =>
  z.union(
    [
      z.number({ error: fix }).nonnegative({ error: fix }),
      z.string({ error: fix }).regex(form, { error: fix }),
    ],
    { error: fix },
  )

/** A finite duration; a number is in milliseconds. */
export const waitTime = () => duration(durationFix, DURATION)

/** A duration, or "off"; a number is in milliseconds. */
export const limit = () => duration(limitFix, /^(off|\d+(\.\d+)?(ms|s|m|h))$/)

export const objectFix = (example: string) => ({ error: `Write an object, such as ${example}.` })

export const wholeNumber = (
  least: number,
  most: number,
  error = `Write a whole number from ${least} to ${most}.`,
) => z.int({ error }).min(least, { error }).max(most, { error })

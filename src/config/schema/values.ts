import { z } from 'zod'

// The error text of a schema is the fix, in one sentence. `validate.ts` adds the problem.

export const text = (mend: string) => z.string({ error: mend }).min(1, { error: mend })

/** A list of texts, of which the reader judges each. */
export const anyTexts = (error: string) => z.array(z.string({ error }), { error })

/** A list of texts, none of which is empty. */
export const texts = (mend: string) => z.array(text(mend), { error: mend })

/** A pattern of names, as the name of a member. */
export const glob = (example: string) => {
  const error = `Use a pattern of 1 to 200 characters, such as "${example}".`
  return z.string({ error }).regex(/^[\s\S]{1,200}$/, { error })
}

/** A list of patterns of names. */
export const globs = (example: string) => {
  const error = `Write a list of patterns, each of 1 to 200 characters, such as ["${example}"].`
  return z.array(z.string({ error }).min(1, { error }).max(200, { error }), { error })
}

export const flag = () => z.boolean({ error: 'Write true or false, without quotes.' })

const DURATION = /^\d+(\.\d+)?(ms|s|m|h)$/
const durationMend = 'Write a number with its unit in quotes, such as "500ms", "30s", "5m" or "1h".'
const limitMend = 'Write a number with its unit in quotes, such as "30s", "5m" or "1h", or "off".'
const duration = (mend: string, form: RegExp) =>
  z.union(
    [
      z.number({ error: mend }).nonnegative({ error: mend }),
      z.string({ error: mend }).regex(form, { error: mend }),
    ],
    { error: mend },
  )

/** A finite duration; a number is in milliseconds. */
export const wait = () => duration(durationMend, DURATION)

/** A duration, or "off"; a number is in milliseconds. */
export const limit = () => duration(limitMend, /^(off|\d+(\.\d+)?(ms|s|m|h))$/)

export const objectMend = (example: string) => ({ error: `Write an object, such as ${example}.` })

export const whole = (
  least: number,
  most: number,
  error = `Write a whole number from ${least} to ${most}.`,
) => z.int({ error }).min(least, { error }).max(most, { error })

import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../kernel/json/canonical.js'
import { type JsonText, rawText, withoutMembers } from '../../../kernel/json/text.js'
import type { Principal } from '../../../model/peer.js'

/** Requests that may be answered with a question (2026-07-28, basic/patterns/mrtr), and what says what they are about. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments'],
  'prompts/get': ['name', 'arguments'],
  'resources/read': ['uri'],
}

/** Longer texts are the same only byte for byte: to write them in their one spelling would hold up everybody. */
const SPELT_BYTES = 256 * 1024
const NOTHING = rawText('{}')

/** Whether a request may be answered with a question. */
export const mayNeedInput = (method: string): boolean => Object.hasOwn(SUBJECTS, method)

/**
 * What a request is about, as base64url of SHA-256 over its name or uri and its arguments: a retry must have the same.
 * Spelling and order do not count up to 256 KiB, every digit of a number does, and so does a member that is there twice.
 */
export const requestDigest = (method: string, params: JsonText | undefined): string => {
  const subjects = SUBJECTS[method] ?? []
  return sha256(spelt(withoutMembers(params ?? NOTHING, at => !subjects.some(key => at.keyIs(key)))))
}

/** What a question is, as base64url of SHA-256 over its method and params: by it an earlier answer is found again. */
export const questionHash = (method: string, params: JsonText | undefined): string =>
  sha256(`${method}\n`, params === undefined ? '' : spelt(params))

const spelt = (text: JsonText): string | Buffer => (text.length <= SPELT_BYTES ? canonicalJson(text) : text)

/** A principal as it stands in what we seal: nobody who got hold of a key should read who our users are. */
export const principalHash = (principal: Principal): string => sha256(principal)

const sha256 = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url')
}

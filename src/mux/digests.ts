import { createHash } from 'node:crypto'
import { canonicalJson } from '../kernel/json-canonical.js'
import { type JsonText, membersOf, objectText } from '../kernel/json-text.js'
import type { Principal } from '../model/peer.js'

/** Requests that may be answered with a question (2026-07-28, basic/patterns/mrtr), and what says what they are about. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments'],
  'prompts/get': ['name', 'arguments'],
  'resources/read': ['uri'],
}

/** Whether a request may be answered with a question. */
export const mayNeedInput = (method: string): boolean => Object.hasOwn(SUBJECTS, method)

/**
 * What a request is about, as base64url of SHA-256 over its name or uri and its arguments: a retry must have the same.
 * Spelling and order do not count, every digit of a number does, and so does a member that is there twice.
 */
export const requestDigest = (method: string, params: JsonText | undefined): string => {
  const subjects = SUBJECTS[method] ?? []
  const members = (params === undefined ? [] : membersOf(params)).flatMap(({ key, value }) =>
    subjects.includes(key) ? [[key, value] as const] : [],
  )
  return sha256(canonicalJson(objectText(members)))
}

/** What a question is, as base64url of SHA-256 over its method and params: by it an earlier answer is found again. */
export const questionHash = (method: string, params: JsonText | undefined): string =>
  sha256(`${method}\n${params === undefined ? '' : canonicalJson(params)}`)

/** A principal as it stands in what we seal: nobody who got hold of a key should read who our users are. */
export const principalHash = (principal: Principal): string => sha256(principal)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import type { TlsSettings } from '../../kernel/machine/tls-settings.js'
import type { ProblemText } from '../file/problem.js'
import { readSmallFile } from '../file/small-file.js'
import { members, type TreeItem } from '../file/tree.js'
import type { ReadContext } from './entry.js'
import { expanded, expandedPath, expandedWhole, reportUnread } from './variables.js'

/** The longest PEM file: a bundle with all public authorities has about 250 KiB. */
const PEM_BYTES = 1024 * 1024

/** Reads `tls`; `url` is the address of the server. */
export const readServerTls = (item: TreeItem, url: string, context: ReadContext): TlsSettings => {
  const { report } = context
  const found = members(item)
  if (/^(?:http|ws):/i.test(url)) {
    report.nameWarning(item, { message: 'ignored: this address is not encrypted', fix: 'Remove it.' })
  }
  const text = (key: string): string | undefined => {
    const at = found.get(key)
    return at && expandedWhole(String(at.node.value), at, context)
  }
  const pem = (key: string): string | undefined => {
    const at = found.get(key)
    return at && readPem(at, context)
  }
  const insecureItem = found.get('insecure')
  const insecure = insecureItem?.node.value === true
  if (insecureItem !== undefined && insecure) report.warning(insecureItem, INSECURE)
  const tls = { ca: pem('ca'), cert: pem('cert'), key: pem('key'), passphrase: text('passphrase') }
  checkCertificates(tls, found, context)
  const servername = text('servername')
  return { ...tls, servername, ...(insecure && { insecure }) }
}

const INSECURE: ProblemText = {
  message: 'any certificate is accepted, so others on the way can read and change all messages',
  fix: 'Remove "insecure", and name the authority of the server in "tls": { "ca": "FILE" }.',
}

/** Reads a PEM text from a file, or from the value of a variable. */
const readPem = (item: TreeItem, context: ReadContext): string | undefined => {
  const { report } = context
  const { errors } = report
  const written = String(item.node.value)
  const text = written.startsWith('~') ? expandedPath(item, context) : expanded(written, item, context)
  if (report.errors > errors) return undefined
  if (text.includes('-----BEGIN ')) return text
  const path = resolve(context.folder, text)
  context.files.add(path)
  const read = readSmallFile(path, PEM_BYTES)
  if ('text' in read) return read.text
  reportUnread(item, { path, why: read.wrong }, context)
  return undefined
}

/** Reports unusable certificates and keys at their own keys. */
const checkCertificates = (
  { ca, cert, key, passphrase }: TlsSettings,
  found: ReadonlyMap<string, TreeItem>,
  { report }: ReadContext,
): void => {
  const fail = (name: string, words: ProblemText): void => {
    const at = found.get(name)
    if (at !== undefined) report.error(at, words)
  }
  for (const [name, text] of Object.entries({ ca, cert }))
    if (text !== undefined && certificateIn(text) === undefined) fail(name, NO_CERTIFICATE)
  if (!found.has('key')) fail('cert', { message: 'the certificate lacks its key', fix: 'Add "key".' })
  if (!found.has('cert')) fail('key', { message: 'the key lacks its certificate', fix: 'Add "cert".' })
  const problem = key === undefined ? undefined : keyProblem(key, passphrase, cert)
  if (problem !== undefined) fail('key', KEY_PROBLEMS[problem])
}

/** Returns the problem of a private key; undefined if it fits the certificate. */
const keyProblem = (
  key: string,
  passphrase: string | undefined,
  cert: string | undefined,
): keyof typeof KEY_PROBLEMS | undefined => {
  try {
    const read = createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) })
    const certificate = cert === undefined ? undefined : certificateIn(cert)
    return certificate?.checkPrivateKey(read) === false ? 'other' : undefined
  } catch {
    return key.includes('ENCRYPTED') ? 'passphrase' : 'invalid'
  }
}

const NO_CERTIFICATE: ProblemText = {
  message: 'this is not a certificate in PEM',
  fix: 'Write the path of a file with a line "-----BEGIN CERTIFICATE-----".',
}

const KEY_PROBLEMS = {
  invalid: {
    message: 'this is not a private key in PEM',
    fix: 'Write the path of a file with a line "-----BEGIN PRIVATE KEY-----".',
  },
  passphrase: {
    message: 'the private key is encrypted, and the passphrase is missing or wrong',
    fix: 'Write "passphrase" with a variable, such as "${KEY_PASSPHRASE}".',
  },
  other: { message: 'this is not the key of "cert"', fix: 'Write the key that belongs to the certificate.' },
} as const satisfies Record<string, ProblemText>

const CERTIFICATE = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----[\s\S]+?-----END \1CERTIFICATE-----/

/** Returns the first certificate of a text; undefined if there is none, or it is invalid. */
const certificateIn = (text: string): X509Certificate | undefined => {
  const [first] = CERTIFICATE.exec(text) ?? []
  try {
    return first === undefined ? undefined : new X509Certificate(first)
  } catch {
    return undefined
  }
}

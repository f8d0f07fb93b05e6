import { elementsOf, type JsonText, kindOf, membersOf, stringOf } from './json-text.js'

/**
 * One spelling for all texts of the same JSON value, to be hashed (RFC 8785): no white space, members sorted by the UTF-16
 * units of their keys, strings and numbers as ECMAScript writes them. Two things differ from the RFC, which does not allow
 * them at all: a number that a double cannot hold keeps its text, so that `12345678901234567890` and
 * `12345678901234567891` stay two; and repeated members all stay, in their order.
 */
export const canonicalJson = (text: JsonText): string => {
  switch (kindOf(text)) {
    case 'object':
      return `{${membersOf(text)
        .sort((one, two) => compareUnits(one.key, two.key))
        .map(({ key, value }) => `${JSON.stringify(key)}:${canonicalJson(value)}`)
        .join(',')}}`
    case 'array':
      return `[${elementsOf(text).map(canonicalJson).join(',')}]`
    case 'string':
      return JSON.stringify(stringOf(text))
    case 'number':
      return canonicalNumber(text.toString('latin1'))
    case 'boolean':
    case 'null':
      return text.toString('latin1')
  }
}

/** Without `localeCompare`: the order must not depend on where the proxy runs. */
const compareUnits = (one: string, two: string): number => {
  if (one === two) return 0
  return one < two ? -1 : 1
}

/** As ECMAScript writes it if that says the same number, else the text as it came. */
const canonicalNumber = (text: string): string => {
  const value = Number(text)
  if (!Number.isFinite(value)) return text
  const written = String(value === 0 ? 0 : value)
  return written === text || decimalKey(written) === decimalKey(text) ? written : text
}

/** Equal for two spellings of one decimal number: its digits without zeros at either end, and their power of ten. */
const decimalKey = (text: string): string => {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const sign = mantissa.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = mantissa.slice(sign.length).split('.')
  const all = `${whole}${fraction}`.replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  if (digits === '') return '0'
  return `${sign}${digits}e${Number(power) - fraction.length + all.length - digits.length}`
}

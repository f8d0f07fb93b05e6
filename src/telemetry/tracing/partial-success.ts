import { isObject } from '../../kernel/object.js'

/** Returns the number of items that a collector rejected (`Export…PartialSuccess`). */
export const rejectedIn = (answer: Buffer, isJson: boolean): number => {
  const said = isJson ? inJson(answer) : inProtobuf(answer)
  return Number.isSafeInteger(said) && said > 0 ? said : 0
}

const inJson = (answer: Buffer): number => {
  try {
    const value: unknown = JSON.parse(answer.toString())
    const partial = isObject(value) ? Reflect.get(value, 'partialSuccess') : undefined
    return isObject(partial)
      ? Number(Reflect.get(partial, 'rejectedSpans') ?? Reflect.get(partial, 'rejectedLogRecords'))
      : 0
  } catch {
    return 0
  }
}

/** Field 1 of the answer is a message whose field 1 is the number. Collectors write both first. */
const inProtobuf = (answer: Buffer): number => {
  if (answer[0] !== 0x0a || answer.length < 3) return 0
  const [, start] = varintAt(answer, 1)
  return answer[start] === 0x08 ? varintAt(answer, start + 1)[0] : 0
}

const varintAt = (bytes: Buffer, from: number): readonly [value: number, end: number] => {
  let value = 0
  let at = from
  for (let unit = 1; at < bytes.length; unit *= 0x80) {
    const byte = bytes[at] ?? 0
    at += 1
    value += (byte & 0x7f) * unit
    if (byte < 0x80) break
  }
  return [value, at]
}

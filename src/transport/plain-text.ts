const ESC = '\u001b'
const BEL = '\u0007'

// ECMA-48: control sequences (§5.4), control strings that a BEL or ST ends (§5.6), other escapes (ECMA-35 §13).
const ESCAPES = new RegExp(
  [
    `${ESC}\\[[0-?]*[ -/]*[@-~]`,
    `${ESC}[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?`,
    `${ESC}[ -/]*[0-~]`,
  ].join('|'),
  'g',
)

// All control characters, and the format characters that reorder what a reader sees (Unicode UAX #9, table 4).
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** One line of a foreign program as it may stand in our log: no escapes, no control or direction characters. */
export function plainText(line: string): string {
  // What a terminal would show of a line that was drawn over and over, such as a progress bar.
  const drawn = line.replace(/\r+$/, '')
  return drawn
    .slice(drawn.lastIndexOf('\r') + 1)
    .replace(ESCAPES, '')
    .replaceAll('\t', ' ')
    .replace(INVISIBLE, '')
}

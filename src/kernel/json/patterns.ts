// Parts of regular expressions over JSON as a text in latin1, whose bytes are known to be UTF-8 (RFC 8259, sections 6 and 7).

export const STRING_PATTERN = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"`
export const NUMBER_PATTERN = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`

const SHELL = /^(?:.*[/\\])?(?:(?:ba|da|k|z|fi|a)?sh|pwsh|powershell)(?:\.exe)?$/i
const SCRIPT_FLAG = /^-(?:[a-z]*c|Command)$/i

/** Returns whether a word of a command line is a script that a shell runs, as after `bash -c`. */
export const isShellScript = (words: readonly string[], index: number): boolean =>
  SCRIPT_FLAG.test(words[index - 1] ?? '') && words.slice(0, index - 1).some(word => SHELL.test(word))

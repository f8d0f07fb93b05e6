// The table of clients' file formats in docs/clients.md, from src/setup/clients/formats.ts.
import { table } from './markdown.mjs'

const UNITS = { s: 'seconds', ms: 'milliseconds', unclear: '' }

const SYNTAX = {
  name: '`${NAME}`',
  default: '`${NAME:-text}`',
  env: '`${env:NAME}`',
  dollar: '`$NAME`',
  percent: '`%NAME%` in `env`',
  input: '`${input:ID}`',
  editor: '`${workspaceFolder}` …',
  file: '`${file:PATH}`',
  braces: '`{env:NAME}`, `{file:PATH}`',
  secrets: '`${{ secrets.NAME }}`',
  run: '',
}

const code = names => names.map(name => `\`${name}\``).join(', ')

/** Returns a table of all formats, with a source for each. */
export const formatTable = formats =>
  table(
    ['Client', 'Files', '`timeout` in', 'Variables', 'Switches for servers', 'Source'],
    formats.map(({ label, files, keys, timeoutUnit, variables, off, source }) => [
      label,
      files.length > 0 ? code(files.map(file => file.slice(1))) : `entries with ${code(keys)}`,
      UNITS[timeoutUnit],
      variables
        .map(form => SYNTAX[form])
        .filter(Boolean)
        .join(', ') || 'none',
      code(off),
      source,
    ]),
  )

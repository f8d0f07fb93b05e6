// The tables of causes, for docs/doctor.md and the README.
import { table } from './markdown.mjs'

const LEVELS = { error: 'error', warn: 'warning', note: 'note' }

/** Removes the quotes from placeholders: `{'server'}` becomes `{server}`. */
const shown = text => text.replace(/\{'(\w+)'\}/g, '{$1}')

/** Returns a table of all numbered problems and their cases. */
export const causeTable = ({ CAUSES, PROBLEM_IDS, familyOf, rowOf }) => {
  const rows = PROBLEM_IDS.flatMap(id =>
    Object.keys(CAUSES)
      .filter(code => familyOf(code) === id)
      .map(code => {
        const { says, why, fix, level = 'warn' } = rowOf(code)
        const isCase = code !== id
        const message = isCase && CAUSES[code].says === undefined ? '' : says
        const reason = why === undefined ? '' : `${message === '' ? '' : ': '}${why}`
        return [
          isCase ? '' : `[${id}](#${anchorOf(id, rowOf(id).about)})`,
          LEVELS[level],
          shown(message + reason),
          shown(fix),
        ]
      })
      .filter(([id, , message, fix], _index, all) => id !== '' || message !== '' || fix !== all[0][3]),
  )
  return table(
    ['Number', 'Severity', 'Message', 'Fix'],
    rows.map(cells => cells.map(text)),
  )
}

/** Escapes angle brackets, which some renderers read as HTML. */
const text = cell => cell.replaceAll('<', '&lt;')

const anchorOf = (id, about) =>
  `${id}: ${about}`
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Returns one finding as doctor prints it. */
export const exampleFinding = ({ cause, explain }) => {
  const { id, message, fix } = explain(cause('D030.uv', { command: 'uvx', server: 'git' }))
  return ['```', `✗ ${id} ${message}`, `    fix:  ${fix}`, '```'].join('\n')
}

// The tables of causes, for docs/doctor.md and the README.
import { table } from './markdown.mjs'

const LEVELS = { error: 'error', warn: 'warning', note: 'note' }

/** Shows the facts of a text: `{server}` instead of `{'server'}`. */
const shown = text => text.replace(/\{'(\w+)'\}/g, '{$1}')

/** Returns the texts of every numbered problem and of its cases, by number. */
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

/** Braces and angle brackets would be read as HTML or templates in some renderers. */
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

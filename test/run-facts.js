// The facts about a run that docs/evidence.md shows.
import { spawnSync } from 'node:child_process'
import { arch, cpus, platform } from 'node:os'

const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? ''

const TESTED = ['src', 'test', 'bench', 'package-lock.json']

/** Returns the commit that is checked out, with `+changes` if files differ from it. */
const commitOf = () => {
  const commit = git('rev-parse', '--short=12', 'HEAD')
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', ...TESTED)
  return changed === '' ? commit : `${commit}+changes`
}

/** Returns the date, commit and machine of a run, and the npm script and words that started it. */
export const scriptFacts = (script, words) =>
  runFacts(['npm run', script, ...(words.length > 0 ? ['--', ...words] : [])].join(' '))

/** The same for the command that started it. */
export const runFacts = command => ({
  date: new Date().toISOString().slice(0, 10),
  commit: commitOf(),
  machine: `Node ${process.versions.node}, ${platform()} ${arch()}, ${cpus().length} CPUs`,
  command,
})

/** Takes `--json FILE` out of a command line; the file is undefined if it is missing. */
export const takeJsonFile = args => {
  const at = args.indexOf('--json')
  return at === -1 ? { rest: args } : { file: args[at + 1], rest: args.toSpliced(at, 2) }
}

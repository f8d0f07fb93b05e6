// Prints the changelog of a version: `node bin/release-notes.mjs vVERSION`, in the folder of the project.
// Fails unless the tag is the version of package.json and CHANGELOG.md has a dated section for it. With
// GITHUB_REPOSITORY, package.json must name that repository too, because npm refuses provenance from others.
import { readFileSync } from 'node:fs'

const [tag] = process.argv.slice(2)
const here = process.env.GITHUB_REPOSITORY
const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const [, named] = /github\.com\/(\S+?)\.git$/.exec(repository.url) ?? []

const heading = `[${version}] - `
const section = readFileSync('CHANGELOG.md', 'utf8')
  .split(/^## /m)
  .find(text => text.startsWith(heading) && /^\d{4}-\d\d-\d\d\n/.test(text.slice(heading.length)))

const problems = [
  tag !== `v${version}` && `the tag ${tag} does not match version ${version} in package.json`,
  section === undefined && `CHANGELOG.md has no section "## ${heading}YYYY-MM-DD"`,
  here !== undefined && here !== named && `package.json names the repository ${named}, but this is ${here}`,
].filter(problem => problem !== false)

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(section.slice(section.indexOf('\n')).trim())

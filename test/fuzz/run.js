#!/usr/bin/env node
// `npm run fuzz -- [--minutes 5] [--seed N]`: the properties of this folder for so long altogether, each with
// inputs that follow from the seed. What fails prints a seed and a path; FUZZ_SEED and FUZZ_PATH repeat it
// with one test file.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string' } },
})
const folder = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const files = readdirSync(folder).filter(name => name.endsWith('.ts'))
const properties = files.flatMap(
  name => readFileSync(`${folder}/${name}`, 'utf8').match(/^void holds\($/gm) ?? [],
).length
const seed = values.seed ?? String(Math.floor(Math.random() * 2 ** 31))
const ms = Math.round((Number(values.minutes) * 60_000) / properties)
console.log(`${properties} properties for ${ms / 1000} s each, with --seed ${seed}`)
const tap = spawnSync(
  process.execPath,
  [
    `${root}/node_modules/tap/dist/esm/run.mjs`,
    'run',
    '--disable-coverage',
    '--jobs=1',
    `--timeout=${Math.ceil((ms * properties) / 1000) + 240}`,
    ...files.map(name => `test/fuzz/${name}`),
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, FUZZ_SEED: seed, FUZZ_MS: String(ms) } },
)
process.exit(tap.status ?? 1)

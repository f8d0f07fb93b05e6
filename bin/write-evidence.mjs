// Writes docs/evidence.md with the other generated pages: `npm run evidence`. With `--record NAME FILE`,
// first replaces the result NAME by the one in FILE, which a run has written with `--json FILE`.
import { readFile, writeFile } from 'node:fs/promises'
import { recordOf } from './docs/evidence-page.mjs'

const record = async (name, file) => {
  const short = recordOf(name, JSON.parse(await readFile(file, 'utf8')))
  const url = new URL(`../docs/evidence/${name}.json`, import.meta.url)
  await writeFile(url, `${JSON.stringify(short, undefined, 2)}\n`)
}

const [flag, name, file, ...rest] = process.argv.slice(2)
const isRecord = flag === '--record' && file !== undefined && rest.length === 0
if (flag !== undefined && !isRecord) {
  console.error('usage: npm run evidence [-- --record NAME FILE]')
  process.exitCode = 2
} else {
  try {
    if (isRecord) await record(name, file)
    const { writeDocs } = await import('./write-docs.mjs')
    await writeDocs()
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}

import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { skipWithout } from '../support/processes.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PICTURE = `${root}/docs/images/init.svg`
const svg = readFileSync(PICTURE, 'utf8')

t.test('the picture of init is small, and serves light and dark pages', async t => {
  t.ok(statSync(PICTURE).size < 60_000)
  t.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"[^>]* role="img"/)
  t.match(svg, '<title id="t">A run of mcp-proxy init</title>')
  t.match(svg, '@media (prefers-color-scheme:dark)')
  t.match(svg, '@media (prefers-reduced-motion:reduce)')
  t.match(svg, /@keyframes [\s\S]*✓/)
  t.notMatch(
    svg,
    /<script|<image|@import|href=|\/tmp\/|\/work\/|sk-recording/,
    'it loads nothing and shows no secrets',
  )
  t.match(readFileSync(`${root}/README.md`, 'utf8'), /!\[[^\]]+\]\(docs\/images\/init\.svg\)/)
})

t.test('the picture of init shows what a run prints today', { skip: skipWithout.script }, async t => {
  const check = () =>
    new Promise<{ code: number; err: string }>(resolve => {
      execFile(process.execPath, ['bin/record-init.mjs', '--check'], { cwd: root }, (error, _out, err) =>
        resolve({ code: Number(error?.code ?? 0), err }),
      )
    })
  t.match(await check(), { code: 0, err: /^$/ })
})

import { existsSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import t from 'tap'
import { textOf, tracked } from '../support/suggestions.js'

// `npm run docs` writes anchors and paths into pages, and people do. A link that leads nowhere fails here.

/** Returns the text of a page without its blocks of code. */
const proseOf = (text: string): string => text.replace(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2\s*$/gm, '')

/** Returns the anchors of a page, as GitHub makes them from its headings. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const seen = new Map<string, number>()
  const headings = [...proseOf(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
  return new Set([...headings, ...[...text.matchAll(/ (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id)])
}

/** Returns the targets of a page's links and images, without links to other sites. */
const targetsOf = (text: string): readonly string[] => {
  const prose = proseOf(text).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, '')
  const links = [...prose.matchAll(/\]\(<?([^)<>\s]+)>?(?: "[^"]*")?\)/g)].map(([, target = '']) => target)
  const tags = [...prose.matchAll(/ (?:src|href|srcset)="([^"]+)"/g)].map(([, target = '']) => target)
  return [...links, ...tags].filter(target => !/^[a-z][a-z+.-]*:/i.test(target))
}

/** Returns why a link of a page leads nowhere; undefined if it does not. */
const problemOf = (page: string, target: string): string | undefined => {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : posix.join(dirname(page), decodeURIComponent(path))
  if (!existsSync(new URL(`../../${file}`, import.meta.url))) return 'no such file'
  if (anchor === undefined || !file.endsWith('.md')) return undefined
  return anchorsOf(textOf(file)).has(anchor) ? undefined : 'no such heading'
}

const pages = tracked('*.md', 'llms.txt').filter(page => !page.startsWith('test/fixtures/'))

t.test('every link, anchor and image of the documentation leads somewhere', async t => {
  t.ok(pages.length > 60, `${pages.length} pages`)
  const links = pages.flatMap(page => targetsOf(textOf(page)).map(target => ({ page, target })))
  t.ok(links.length > 300, `${links.length} links`)
  const broken = links.flatMap(({ page, target }) => {
    const problem = problemOf(page, target)
    return problem === undefined ? [] : [`${page}: ${target}: ${problem}`]
  })
  t.same(broken, [])
})

t.test('the check of links finds missing files and headings', async t => {
  const problems = ['nowhere.md', 'start.md#nowhere', 'start.md#sharing-with-others', '../README.md#install']
  t.same(
    problems.map(target => problemOf('docs/cli.md', target)),
    ['no such file', 'no such heading', undefined, undefined],
  )
  t.same(
    targetsOf('[a](b.md#c) `[d](e.md)` ![f](g.svg)\n```\n[h](i.md)\n```\n<img src="j.png"> [k](https://l)'),
    ['b.md#c', 'g.svg', 'j.png'],
  )
})

t.test('llms.txt names each page by its heading', async t => {
  const links = [...textOf('llms.txt').matchAll(/^- \[([^\]]+)\]\(([^)]+)\): \S/gm)]
  t.ok(links.length > 30)
  for (const [, title, page = ''] of links) t.equal(title, /^# (.+)$/m.exec(textOf(page))?.[1], page)
})

t.test('every page of the documentation is linked from another one', async t => {
  const linked = new Set(
    pages.flatMap(page =>
      targetsOf(textOf(page)).map(target => posix.join(dirname(page), target.split('#')[0] ?? '')),
    ),
  )
  const docs = pages.filter(page => /^docs\/(?:clients\/)?[^/]+\.md$/.test(page))
  t.same(
    docs.filter(page => !linked.has(page)),
    [],
  )
})

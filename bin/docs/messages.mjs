import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagesOf, treeOf } from '../prose/code.mjs'
import { filesBelow, hasMessages } from '../prose/files.mjs'

const HEAD = `Texts in the source that users may read, by file; {name} is a value. Written by \`npm run docs\`, for reviewers.
`

/** Lists the messages of src, in the order of the files. */
export const messagesText = root => {
  const parts = filesBelow(root, 'src')
    .filter(hasMessages)
    .map(path => {
      const texts = messagesOf(treeOf(path, readFileSync(join(root, path), 'utf8'))).map(({ text }) => text)
      return [path, [...new Set(texts)]]
    })
    .filter(([, texts]) => texts.length > 0)
  return [HEAD, ...parts.map(([path, texts]) => `${path}\n${texts.map(indented).join('')}`)].join('\n')
}

const indented = text => `  ${text.trim().replace(/\n\s*/g, '\n    ')}\n`

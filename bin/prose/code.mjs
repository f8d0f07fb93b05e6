// Comments, messages and test titles of TypeScript and JavaScript, found in the syntax tree.
import ts from 'typescript'

const SyntaxKind = ts.SyntaxKind

/** Parses a source; throws nothing, since the type check reports syntax errors. */
export const treeOf = (path, text) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)

const lineOf = (tree, position) => tree.getLineAndCharacterOfPosition(position).line + 1

/** Returns the comments as `{ line, text }`; `//` on lines that follow each other is one comment. */
export const commentsOf = tree => {
  const ranges = new Map()
  const visit = node => {
    if (node.kind === SyntaxKind.JsxText) return
    const children = node.getChildren(tree)
    if (children.length > 0) return children.forEach(visit)
    const { text } = tree
    const found = [
      ...(ts.getLeadingCommentRanges(text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
    ]
    for (const range of found) ranges.set(range.pos, range)
  }
  visit(tree)
  const comments = []
  for (const { pos, end, kind } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const isLine = kind === SyntaxKind.SingleLineCommentTrivia
    const [line, text] = [lineOf(tree, pos), withoutMarks(tree.text.slice(pos, end))]
    if (/^(?:biome-|eslint-|@ts-|#|!)/.test(text)) continue
    const last = comments.at(-1)
    if (isLine && last?.isLine && last.endLine === line - 1) {
      last.text += ` ${text}`
      last.endLine = line
    } else comments.push({ line, text, isLine, endLine: line })
  }
  return comments
}

/** Tags such as `@throws` begin a sentence. */
const withoutMarks = comment =>
  comment
    .replace(/^\/\/\s*|^\/\*+\s*|\s*\*+\/$/g, '')
    .replace(/\n\s*\* ?/g, '\n')
    .replace(/\n\s*@\w+/g, '\n\n')

/** Returns the texts that people may read as `{ line, text }`: `{name}` for the value of an expression. */
export const messagesOf = tree => {
  const messages = []
  const visit = node => {
    if (isNeverShown(node)) return
    const text = textOf(tree, node)
    if (text === undefined) return ts.forEachChild(node, visit)
    if (isSentence(text)) messages.push({ line: lineOf(tree, node.getStart(tree)), text })
    for (const value of valuesIn(node)) visit(value)
  }
  visit(tree)
  return messages
}

const isNeverShown = node =>
  ts.isImportDeclaration(node) ||
  ts.isExportDeclaration(node) ||
  ts.isTypeNode(node) ||
  ts.isRegularExpressionLiteral(node)

/** Three words in a row, and no code of another language. */
const isSentence = text =>
  /[a-z}"'`)] [a-z"'`({]\S* [\w"'`({]/i.test(text) &&
  !/[{;]\n|\n\s*}\n|=>|<\/|\bfunction\b|^\s*(?:import|const|local) /.test(text)

const isJoined = node => ts.isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.PlusToken

/** The text of a string, a template, strings that are joined by `+`, or JSX; undefined for other nodes. */
const textOf = (tree, node) => {
  if (ts.isTaggedTemplateExpression(node) && node.tag.getText(tree) === 'html')
    return textOf(tree, node.template)
      .replace(/<[^>]*>/g, '\n')
      .trim()
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isJsxText(node)) return node.text.trim()
  if (ts.isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans.map(span => placeholder(tree, span.expression) + span.literal.text).join('')
    )
  if (!isJoined(node)) return undefined
  const [left, right] = [textOf(tree, node.left), textOf(tree, node.right)]
  if (left === undefined && right === undefined) return undefined
  return (left ?? placeholder(tree, node.left)) + (right ?? placeholder(tree, node.right))
}

/** The expressions in a text, which may contain texts themselves. */
const valuesIn = node => {
  if (ts.isTaggedTemplateExpression(node)) return valuesIn(node.template)
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(span => span.expression)
  if (!isJoined(node)) return []
  return [node.left, node.right]
    .flatMap(side => (isJoined(side) || ts.isTemplateExpression(side) ? valuesIn(side) : [side]))
    .filter(side => !ts.isStringLiteralLike(side))
}

/** Names the value: the last name of a path or call, and of other expressions nothing. */
const placeholder = (tree, expression) => {
  const name = /([\w$]+)(?:\([^()]*\))?$/.exec(expression.getText(tree).replace(/#|!$/g, ''))?.[1]
  return ts.isConditionalExpression(expression) || isJoined(expression) || name === undefined
    ? '{…}'
    : `{${name}}`
}

/** Returns the titles of tests as `{ line, text }`. */
export const titlesOf = tree => {
  const titles = []
  const visit = node => {
    const title = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments[0] : undefined
    const text = title === undefined ? undefined : textOf(tree, title)
    if (text !== undefined) titles.push({ line: lineOf(tree, title.getStart(tree)), text })
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return titles
}

const isTest = callee => /(?:^|\.)test(?:\.skip|\.todo)?$/.test(callee.getText())

// The generated parts of docs/cli.md, made from the verbs (src/cli/all-verbs.ts).
import { table } from './markdown.mjs'

/** The commands, by the sections of the help. */
export const commandsText = sections =>
  sections.map(([title, commands]) => `## ${title}\n\n${commands.map(commandText).join('\n\n')}`).join('\n\n')

const commandText = command =>
  'verbs' in command
    ? [
        `### \`mcp-proxy ${command.usage}\``,
        sentence(command.describe),
        ...command.verbs.map(verb => verbText(verb, `${command.usage} ${verb.usage}`, '####')),
      ].join('\n\n')
    : verbText(command, command.usage, '###')

const verbText = (verb, usage, level) => {
  const { describe, synopsis, flags, positionals = {}, examples } = verb
  const parts = [
    `${level} \`mcp-proxy ${usage}\``,
    ...(synopsis === undefined ? [sentence(describe)] : synopsisText(synopsis)),
  ]
  const words = Object.entries(positionals).map(([name, option]) => [`\`${name}\``, optionText(option)])
  if (words.length > 0) parts.push(table(['Argument', 'Description'], words))
  const options = Object.entries(flags)
    .filter(([, { hidden }]) => hidden !== true)
    .map(([name, option]) => [flagText(name, option), optionText(option)])
  if (options.length > 0) parts.push(table(['Option', 'Description'], options))
  if (examples.length > 0) parts.push(fenced(examples.flatMap(exampleLines).join('\n'), 'sh'))
  return parts.join('\n\n')
}

/** The forms of a command, and after an empty line its description. */
const synopsisText = synopsis => {
  const [forms, ...rest] = synopsis.replaceAll('$0', 'mcp-proxy').split('\n\n')
  return [fenced(forms), ...rest.map(sentence)]
}

const sentence = text => (/[.!?]$/.test(text) ? text : `${text}.`)

const fenced = (text, language = 'text') => `\`\`\`${language}\n${text}\n\`\`\``

const exampleLines = ([command, description]) =>
  description === '' ? [command] : [`# ${description}`, command]

const flagText = (name, { type, array, choices, alias }) => {
  const value =
    choices !== undefined || array === true || type === 'string' || type === 'number' ? ' VALUE' : ''
  const others = [alias ?? []].flat().map(each => `, \`-${each}\``)
  return `\`--${name}${value}\`${others.join('')}${array === true ? ' …' : ''}`
}

const optionText = ({ describe = '', choices, default: fallback }) => {
  const facts = [
    ...(choices === undefined ? [] : [`One of ${choices.map(each => `\`${each}\``).join(', ')}.`]),
    ...(fallback === undefined || [fallback].flat().length === 0
      ? []
      : [`Default: \`${[fallback].flat().join(' ')}\`.`]),
  ]
  return [escaped(sentence(describe)), ...facts].join(' ')
}

/** Angle brackets outside of code would be HTML. */
const escaped = text => text.replaceAll('<', '&lt;')

/** The rows of the table of the help: a code, two spaces or more, its meaning. */
export const exitTable = text =>
  table(
    ['Code', 'Meaning'],
    [...text.matchAll(/^ {2}(\d+) +(.*)$/gm)].map(([, code, meaning]) => [code, meaning]),
  )

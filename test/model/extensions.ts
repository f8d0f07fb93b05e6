import t from 'tap'
import { rawText } from '../../src/kernel/json/text.js'
import { joinDeclarations, joinExtensions, readExtensions, skillsIn } from '../../src/model/extensions.js'

const PREFIX = 'io.modelcontextprotocol/'

const joined = (id: string, settings: readonly string[]): readonly string[] => {
  const announced = settings.map(text => {
    const extensions = `"${PREFIX}${id}":${text},"${PREFIX}tasks":{"y":1},"com.example/x":{}`
    return readExtensions(rawText(`{"extensions":{${extensions}}}`))
  })
  const all = [...joinExtensions(announced, 'returned')].map(([name, text]) => `${name} ${text}`)
  return all.filter(text => !text.startsWith(`${PREFIX}tasks`) || id === 'tasks')
}

t.test('of several servers apps and skills are announced, with the settings that all agree on', async t => {
  const joinedUi = (...settings: readonly string[]) => joined('ui', settings)
  t.same(joinedUi('{"x":1.0,"y":2}'), [`${PREFIX}ui {"x":1.0,"y":2}`])
  t.same(joinedUi('{"x":1,"y":2}', '{ "y":2,"x":1 }'), [`${PREFIX}ui {"x":1,"y":2}`])
  t.same(joinedUi('{"x":1}', '{"x":2}'), [`${PREFIX}ui {}`])
  t.same(joinedUi(), [])
})

t.test('directories of skills can be read if any server allows it', async t => {
  const skills = (...settings: readonly string[]) =>
    joined('skills', settings).map(text => text.replace(`${PREFIX}skills `, ''))
  t.same(skills('{}', '{"directoryRead":true}'), ['{"directoryRead":true}'])
  t.same(skills('{"directoryRead":false,"x":1.0}', '{"x":1,"directoryRead":true}'), [
    '{"x":1.0,"directoryRead":true}',
  ])
  t.same(skills('{"x":1}', '{"x":2,"directoryRead":true}'), ['{"directoryRead":true}'])
  t.same(skills('{"directoryRead":true,"x":1}', '{"x":1,"directoryRead":true}'), [
    '{"directoryRead":true,"x":1}',
  ])
  t.same(skills('{"directoryRead":"yes"}', '{}'), ['{}'])
  t.same(skills('true', '[]'), ['{}'])
})

t.test('a server has skills if it announces the extension', async t => {
  const told = (text: string) => skillsIn(rawText(`{"extensions":{"${PREFIX}skills":${text}}}`))
  t.same(told('{}'), { directoryRead: false })
  t.same(told('true'), { directoryRead: false })
  t.same(told('{"directoryRead":true}'), { directoryRead: true })
  t.same(told('{"directoryRead":"true"}'), { directoryRead: false })
  t.equal(told('[]'), undefined)
  t.equal(skillsIn(rawText('{"skills":{}}')), undefined)
})

t.test('tasks are announced without settings, to peers of 2026-07-28', async t => {
  t.same(joined('tasks', ['{"x":1}', '{"x":1}']), [`${PREFIX}tasks {}`])
  const tasks = new Map([[`${PREFIX}tasks`, rawText('{}')]])
  t.equal(joinExtensions([tasks], 'pushed').size, 0)
})

t.test('clients with equal long settings share the room for a joined declaration', t => {
  const long = rawText(`{"z":"${'x'.repeat(30_000)}"}`)
  const declaring = (ids: Readonly<Record<string, typeof long>>) => ({
    extensions: new Map(Object.entries(ids)),
    experimental: undefined,
    others: [],
    revision: '2026-07-28' as const,
    withheld: [],
  })
  const one = rawText('{}')
  const together = joinDeclarations([
    declaring({ ui: long }),
    declaring({ ui: long, skills: one }),
    declaring({ ui: long, x: long, y: long, tasks: one }),
  ])
  t.same([...(together?.extensions.keys() ?? [])], ['ui', 'skills', 'x', 'tasks'], 'y is too long')
  t.end()
})

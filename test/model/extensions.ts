import t from 'tap'
import { rawText } from '../../src/kernel/json/text.js'
import { joinExtensions, readExtensions } from '../../src/model/extensions.js'

const PREFIX = 'io.modelcontextprotocol/'

const joined = (...settings: readonly string[]): readonly string[] => {
  const announced = settings.map(text => {
    const extensions = `"${PREFIX}ui":${text},"${PREFIX}skills":{},"${PREFIX}tasks":{},"com.example/x":{}`
    return readExtensions(rawText(`{"extensions":{${extensions}}}`))
  })
  return [...joinExtensions(announced, 'returned')].map(([id, text]) => `${id} ${text}`)
}

t.test('of several servers apps alone are announced, with the settings that all agree on', async t => {
  t.same(joined('{"x":1.0,"y":2}'), [`${PREFIX}ui {"x":1.0,"y":2}`])
  t.same(joined('{"x":1,"y":2}', '{ "y":2,"x":1 }'), [`${PREFIX}ui {"x":1,"y":2}`])
  t.same(joined('{"x":1}', '{"x":2}'), [`${PREFIX}ui {}`])
  t.same(joined(), [])
})

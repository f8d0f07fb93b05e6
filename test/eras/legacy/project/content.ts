import t from 'tap'
import { projectBlock } from '../../../../src/eras/legacy/project/content.js'
import { type JsonText, readJson, textOf, valueOf } from '../../../../src/kernel/json/text.js'
import { LEGACY_REVISIONS } from '../../../../src/model/revision.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const [R1, R2, R3, R4] = LEGACY_REVISIONS

const BLOCKS = {
  text: '{"type":"text","text":"t"}',
  image: '{"type":"image","data":"QQ==","mimeType":"a/b"}',
  audio: '{"type":"audio","data":"QQ==","mimeType":"a/b"}',
  resource: '{"type":"resource","resource":{"uri":"a:b","text":"t"}}',
  resource_link: '{"type":"resource_link","uri":"a:b","name":"n","title":"N","size":1.0}',
}

t.test('each block passes as it is to those whose revision has it', async t => {
  const since = { text: R1, image: R1, resource: R1, audio: R2, resource_link: R3 } as const
  for (const type of ['text', 'image', 'audio', 'resource', 'resource_link'] as const) {
    for (const revision of LEGACY_REVISIONS) {
      const block = json(BLOCKS[type])
      t.equal(projectBlock(revision, block) === block, revision >= since[type], `${type} ${revision}`)
    }
  }
})

t.test('a link becomes text for clients without links', async t => {
  const text = (link: string): unknown => valueOf(projectBlock(R1, json(`{"type":"resource_link",${link}}`)))
  t.same(text('"uri":"a:b","name":"n","title":"T"'), { type: 'text', text: 'T: a:b' })
  t.same(text('"uri":"a:b"'), { type: 'text', text: 'a:b: a:b' })
  t.same(text('"uri":"a:b","name":"n","description":"d"'), { type: 'text', text: 'n: a:b\nd' })
  t.same(text('"name":"n"'), { type: 'text', text: '{"type":"resource_link","name":"n"}' })
  t.same(
    text('"uri":"a:b","name":"n","annotations":{"audience":["user"],"lastModified":"x"},"_meta":{"a":1}'),
    { type: 'text', text: 'n: a:b', annotations: { audience: ['user'] } },
    'whom it is for stays',
  )
})

t.test('sound above one MiB is mentioned, below it is embedded', async t => {
  const sound = (bytes: number): JsonText =>
    textOf({ type: 'audio', data: Buffer.alloc(bytes).toString('base64'), mimeType: 'audio/wav' })
  t.match(valueOf(projectBlock(R1, sound(1024 * 1024))), { type: 'resource' })
  t.same(valueOf(projectBlock(R1, sound(1024 * 1024 + 1))), {
    type: 'text',
    text: '[audio audio/wav, 1048577 bytes]',
  })
  t.same(valueOf(projectBlock(R1, json('{"type":"audio","mimeType":"a/b"}'))), {
    type: 'text',
    text: '{"type":"audio","mimeType":"a/b"}',
  })
})

t.test('an unknown block is shown as text', async t => {
  for (const text of ['{"type":"video"}', '{"type":"tool_use"}', '{"type":5}', '{}', 'null', '[1]']) {
    for (const revision of LEGACY_REVISIONS) {
      t.same(valueOf(projectBlock(revision, json(text))), { type: 'text', text })
    }
  }
})

t.test('members that came later go, all others stay byte for byte', async t => {
  const text =
    '{"type":"text", "text":"t","annotations":{"priority":1.0,"lastModified":"x"},"_meta":{"k":1},"x":1e400}'
  for (const revision of [R1, R2] as const) {
    t.equal(
      projectBlock(revision, json(text)).toString(),
      '{"type":"text", "text":"t","annotations":{"priority":1.0},"x":1e400}',
    )
  }
  for (const revision of [R3, R4] as const) {
    const block = json(text)
    t.equal(projectBlock(revision, block), block)
  }
  const link = '{"type":"resource_link","uri":"a:b","name":"n","icons":[{"src":"data:,"}]}'
  t.notMatch(projectBlock(R3, json(link)).toString(), /icons/)
  t.match(projectBlock(R4, json(link)).toString(), /icons/)
  const embedded = '{"type":"resource","resource":{"uri":"a:b","text":"t","_meta":{"k":1.0}}}'
  t.notMatch(projectBlock(R2, json(embedded)).toString(), /_meta/)
  t.equal(projectBlock(R3, json(embedded)).toString(), embedded)
})

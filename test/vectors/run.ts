import t from 'tap'
import { type Json, Mismatch } from '../support/match.js'
import { AMENDMENTS, EXCEPTIONS, WORDING } from './play/exceptions.js'
import { play } from './play/stage.js'
import { amended, readVectors, type Step, titleOf, type Vector } from './play/vector.js'

const vectors = readVectors().map(vector => {
  const amendment = AMENDMENTS.get(titleOf(vector))
  return amendment === undefined ? vector : amended(vector, amendment.at, amendment.is)
})
const held = vectors.filter(vector => !EXCEPTIONS.has(titleOf(vector)))

/** How a vector went otherwise; undefined if it went as it stands. */
const mismatchOf = async (vector: Vector): Promise<string | undefined> => {
  try {
    await play(vector, WORDING)
    return undefined
  } catch (thrown) {
    if (thrown instanceof Mismatch) return thrown.message
    throw thrown
  }
}

const count = { held: 0, broken: 0 }
for (const vector of vectors) {
  const title = titleOf(vector)
  const exception = EXCEPTIONS.get(title)
  await t.test(title, async t => {
    const mismatch = await mismatchOf(vector)
    count[mismatch === undefined ? 'held' : 'broken'] += 1
    if (exception === undefined) t.equal(mismatch, undefined)
    else t.not(mismatch, undefined, `${exception.kind}: ${exception.reason}; if it holds, it is no exception`)
  })
}

/** A step that says a little else: another status, or one member more. */
const altered = ({ message, ...step }: Step): Step => {
  if (typeof message['http'] === 'number')
    return { ...step, message: { ...message, http: message['http'] + 1 } }
  if (typeof message['http'] === 'string' && message['body'] === undefined)
    return { ...step, message: { ...message, http: `X-${message['http']}` } }
  const body = message['body'] as Json | undefined
  const wrong = { 'x-wrong': 1 }
  return {
    ...step,
    message: body === undefined ? { ...message, ...wrong } : { ...message, body: { ...body, ...wrong } },
  }
}

t.test('a vector of which any step of the proxy is wrong, missing or one too many does not hold', async t => {
  for (const vector of held) {
    for (const [index, step] of vector.steps.entries()) {
      if (!step.way.startsWith('p>')) continue
      const title = `${titleOf(vector)}, step ${index + 1}`
      const { steps } = vector
      t.ok(await mismatchOf({ ...vector, steps: steps.with(index, altered(step)) }), `${title} is wrong`)
      t.ok(await mismatchOf({ ...vector, steps: steps.toSpliced(index, 0, step) }), `${title} comes twice`)
      // Where the client says nothing first, the step also tells what the vector leaves out.
      const isTold = steps.slice(0, index).some(({ way }) => way === 'c>p')
      if (isTold)
        t.ok(await mismatchOf({ ...vector, steps: steps.toSpliced(index, 1) }), `${title} is missing`)
    }
  }
})

t.test('an exception is one of a vector that is there', async t => {
  const titles = new Set(vectors.map(titleOf))
  t.equal(titles.size, vectors.length, 'each title is one vector')
  t.same(
    [...EXCEPTIONS.keys(), ...AMENDMENTS.keys()].filter(title => !titles.has(title)),
    [],
  )
})

t.comment(`vectors: ${vectors.length} played, ${count.held} hold, ${count.broken} do not`)
for (const [title, { kind, reason }] of EXCEPTIONS) t.comment(`  ${kind}: ${title}: ${reason}`)
for (const [title, { reason }] of AMENDMENTS) t.comment(`  holds but for a part: ${title}: ${reason}`)

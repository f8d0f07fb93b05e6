import { Fault } from '../../kernel/faults.js'
import { arrayText, objectText, rawText } from '../../kernel/json/text.js'
import { textBlock } from '../../model/content.js'
import { type Answer, failed, resulted } from '../../model/outcome.js'

const CANCELLED = rawText('{"action":"cancel"}')

/** What a server hears in place of an answer that nobody gave: a form can be cancelled, for the others there is an error. */
export const noAnswer = (method: string, words: string): Answer =>
  method === 'elicitation/create' ? resulted(CANCELLED) : failed(new Fault('internal', words))

/** How a request ends that cannot go on without input: a model that called a tool should read why. */
export const noInput = (method: string, words: string, server: string): Answer =>
  method === 'tools/call'
    ? resulted(
        objectText([
          ['content', arrayText([textBlock(words)])],
          ['isError', rawText('true')],
        ]),
      )
    : failed(new Fault('internal', words, { data: { server } }))

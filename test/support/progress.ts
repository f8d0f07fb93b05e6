import { textOf } from '../../src/kernel/json/text.js'
import { Progress } from '../../src/model/progress.js'

/** Progress whose notification has these params. */
export const progressOf = (params: object): Progress => new Progress(textOf(params))

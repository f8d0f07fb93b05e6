import { textOf } from '../../kernel/json/text.js'
import type { Server } from '../../peers/server.js'
import { bytesOf, digestOf, type Listed } from '../lists/listed.js'
import { exposedName } from './names.js'

const OWN = 'sign_in'

/** Whether people sign in at a server as themselves, and are shown how. */
export const hasSignInTool = ({ options: { owned, signInTool: isWanted } }: Server): boolean =>
  owned !== undefined && isWanted

/** The name of the tool that leads a principal to where it signs in at a server. */
export const signInToolName = ({ options: { alias } }: Server): string => exposedName(alias, OWN)

/** That tool, in place of all that a server would list to somebody who has signed in. */
export const signInTool = (server: Server): Listed => {
  const exposed = signInToolName(server)
  const { name } = server
  const text = textOf({
    name: exposed,
    title: `Sign in to ${name}`,
    description:
      `${name} has tools for people who have signed in there with an account of their own. This one says where` +
      ' the user can sign in; the others are here as soon as that is done.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  })
  const item = { server, own: OWN, exposed, text, hasOutputSchema: false, isOurs: true }
  const digest = digestOf([text])
  return {
    key: digest,
    most: 1,
    raw: [],
    leftOut: { filter: 0, broken: 0, twice: 0 },
    items: [item],
    digest,
    bytes: bytesOf([text]),
  }
}

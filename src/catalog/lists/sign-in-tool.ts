import { textOf } from '../../kernel/json/text.js'
import type { Server } from '../../peers/server.js'
import { digestOf, type Listed, listBytesOf } from '../listed.js'
import { exposedName } from '../names/names.js'

const OWN = 'sign_in'

/** Returns whether each user of a server signs in personally and gets a sign-in tool. */
export const hasSignInTool = ({ options: { owned, signInTool: isWanted } }: Server): boolean =>
  owned !== undefined && isWanted

/** Returns the exposed name of a server's sign-in tool. */
export const signInToolName = ({ options: { alias } }: Server): string => exposedName(alias, OWN)

/** Returns the list that users see before they sign in: the sign-in tool alone. */
export const signInTool = (server: Server): Listed => {
  const exposed = signInToolName(server)
  const { name } = server
  const text = textOf({
    name: exposed,
    title: `Sign in to ${name}`,
    description:
      `${name} has tools for people who have signed in there with an account of their own. This tool shows where` +
      ' the user can sign in; the others appear after the login.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  })
  const item = { server, own: OWN, exposed, text, hasOutputSchema: false, isOurs: true }
  const digest = digestOf([text])
  return {
    key: digest,
    most: 1,
    mayHaveApps: false,
    raw: [],
    leftOut: { filter: 0, broken: 0, twice: 0 },
    items: [item],
    digest,
    modelDigest: digest,
    bytes: listBytesOf([text]),
  }
}

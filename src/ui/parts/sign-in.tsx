import { useState } from 'preact/hooks'
import { change, messageOf } from '../live/api.js'
import { CommandText } from './text.js'

/** The login page of the proxy, or the reason for its absence. */
interface Offer {
  readonly url?: string
  readonly why?: string
}

/** Shows a link to the login page, or the command to run. @internal */
export const Offered = ({
  offer: { url, why = 'Run this on the host of the proxy:' },
  command,
}: {
  readonly offer: Offer
  readonly command: string
}) =>
  url === undefined ? (
    <>
      <span class="muted">{why}</span>
      <CommandText text={command} />
    </>
  ) : (
    <a href={url} target="_blank" rel="noreferrer">
      Open the sign-in page
    </a>
  )

/** A button that leads to the login at a server. */
export const SignInButton = ({ name, command }: { readonly name: string; readonly command: string }) => {
  const [offer, setOffer] = useState<Offer | undefined>()
  const find = (): void => {
    change<Offer>(`servers/${encodeURIComponent(name)}/sign-in`).then(setOffer, (thrown: unknown) =>
      setOffer({ why: messageOf(thrown) }),
    )
  }
  return (
    <span class="action">
      {offer === undefined ? (
        <button type="button" aria-label={`Sign in at ${name}`} onClick={find}>
          Sign in
        </button>
      ) : (
        <Offered offer={offer} command={command} />
      )}
    </span>
  )
}

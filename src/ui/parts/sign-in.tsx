import { useState } from 'preact/hooks'
import { change, wordsOf } from '../live/api.js'
import { Command } from './text.js'

/** What the proxy offers for a login: a page, or why there is none. */
interface Offer {
  readonly url?: string
  readonly why?: string
}

/** The page to sign in, where the proxy has one; else the command to run. @internal */
export const Offered = ({
  offer: { url, why = 'Run this where the proxy runs:' },
  command,
}: {
  readonly offer: Offer
  readonly command: string
}) =>
  url === undefined ? (
    <>
      <span class="muted">{why}</span>
      <Command text={command} />
    </>
  ) : (
    <a href={url} target="_blank" rel="noreferrer">
      Open the sign-in page
    </a>
  )

/** A button that leads to the login at a server. */
export const SignIn = ({ name, command }: { readonly name: string; readonly command: string }) => {
  const [offer, setOffer] = useState<Offer | undefined>()
  const find = (): void => {
    change<Offer>(`servers/${encodeURIComponent(name)}/sign-in`).then(setOffer, (thrown: unknown) =>
      setOffer({ why: wordsOf(thrown) }),
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

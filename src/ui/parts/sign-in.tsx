import { useState } from 'preact/hooks'
import { ask, wordsOf } from '../live/api.js'
import { Command } from './text.js'

/** What the proxy offers for a login: a page, or else only the command that begins one. */
type Offer = { readonly url?: string | undefined } | { readonly why: string }

/** The page to sign in, where the proxy has one; else the command to run. @internal */
export const Offered = ({ offer, command }: { readonly offer: Offer; readonly command: string }) => {
  if ('url' in offer && offer.url !== undefined)
    return (
      <a href={offer.url} target="_blank" rel="noreferrer">
        Open the sign-in page
      </a>
    )
  return (
    <>
      <span class="muted">{'why' in offer ? offer.why : 'Run this where the proxy runs:'}</span>
      <Command text={command} />
    </>
  )
}

/** A button that leads to the login at a server. */
export const SignIn = ({ name, command }: { readonly name: string; readonly command: string }) => {
  const [offer, setOffer] = useState<Offer | undefined>()
  const find = (): void => {
    ask<{ readonly url?: string }>(`servers/${encodeURIComponent(name)}/sign-in`).then(
      setOffer,
      (thrown: unknown) => setOffer({ why: wordsOf(thrown) }),
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

import { withOwnCommand } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import type { PageProblem } from '../live/state.js'
import { Lamp } from '../parts/lamp.js'
import { SignInButton } from '../parts/sign-in.js'
import { CommandText, LongText } from '../parts/text.js'

/** Problems that signing in fixes. */
const LOGINS = new Set(['needs-auth', 'needs-client', 'insufficient-scope'])

/** Lists problems, each with the command that fixes or explains it. */
export const ProblemList = ({
  all,
  isOwn = false,
}: {
  readonly all: readonly PageProblem[]
  /** True if all are about the current item. */
  readonly isOwn?: boolean
}) => (
  <section aria-labelledby="troubles">
    <h3 id="troubles">Problems</h3>
    {all.length === 0 ? (
      <p class="fine">
        <Lamp word="ok" show="No problems found." />
      </p>
    ) : (
      <ul class={isOwn ? 'troubles own' : 'troubles'}>
        {all.map(({ level, about, server, view, kind, words, command }) => (
          <li key={`${about} ${kind} ${command}`} class={level}>
            {!isOwn && (
              <a class="about" href={hrefOf(view, server)}>
                {about}
              </a>
            )}
            <Lamp word={level === 'bad' ? 'failed' : 'odd'} show={kind} />
            <span class="words">
              <LongText text={withOwnCommand(words)} first={300} />
            </span>
            {LOGINS.has(kind) ? (
              <SignInButton name={about} command={command} />
            ) : (
              <CommandText text={command} />
            )}
          </li>
        ))}
      </ul>
    )}
  </section>
)

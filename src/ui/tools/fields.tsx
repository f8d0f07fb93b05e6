import {
  asSchema,
  type Draft,
  draftMemberOf,
  emptyDraft,
  fieldKindOf,
  isRequired,
  propertiesOf,
  type Schema,
} from './drafts.js'

export interface FieldProps {
  /** Unique on the page. */
  readonly id: string
  readonly label: string
  readonly schema: Schema
  readonly draft: Draft
  readonly isNeeded: boolean
  readonly depth: number
  readonly onDraft: (draft: Draft) => void
}

const LONGEST_HINT = 300

const hintOf = ({ description }: Schema): string | undefined =>
  typeof description === 'string' && description !== '' ? description.slice(0, LONGEST_HINT) : undefined

/** A form control with its nested controls. */
export const Field = (props: FieldProps) => {
  const kind = fieldKindOf(props.schema, props.depth)
  if (kind === 'object') return <ObjectField {...props} />
  if (kind === 'array') return <ArrayField {...props} />
  const { id, label, schema, isNeeded } = props
  const hint = hintOf(schema)
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isNeeded && <span class="muted"> required</span>}
        {kind === 'json' && <span class="muted"> as JSON</span>}
      </label>
      <Input {...props} hintId={hint && `${id}-hint`} />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

const Input = ({
  id,
  schema,
  draft,
  depth,
  isNeeded,
  onDraft,
  hintId,
}: FieldProps & { readonly hintId: string | undefined }) => {
  const kind = fieldKindOf(schema, depth)
  const value = typeof draft === 'string' ? draft : ''
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void =>
    onDraft(currentTarget.value)
  const shared = { id, value, onInput, 'aria-describedby': hintId }
  if (kind === 'choice' || kind === 'boolean') {
    const choices = kind === 'boolean' ? ['true', 'false'] : (schema.enum as readonly string[])
    return (
      <select {...shared}>
        <option value="">{isNeeded ? 'choose' : 'not set'}</option>
        {choices.map(choice => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  }
  if (kind === 'json') return <textarea {...shared} rows={3} spellcheck={false} />
  return (
    <input {...shared} type="text" inputMode={kind === 'number' ? 'decimal' : 'text'} autocomplete="off" />
  )
}

const ObjectField = ({ id, label, schema, draft, depth, onDraft }: FieldProps) => (
  <fieldset>
    <legend>{label}</legend>
    <ObjectFields {...{ id, schema, draft, depth, onDraft }} />
  </fieldset>
)

/** The members of an object, without a frame. */
export const ObjectFields = ({
  id,
  schema,
  draft,
  depth,
  onDraft,
}: Pick<FieldProps, 'id' | 'schema' | 'draft' | 'depth' | 'onDraft'>) => (
  <>
    {propertiesOf(schema).map(([name, one], n) => (
      <Field
        key={name}
        id={`${id}.${n}`}
        label={name}
        schema={one}
        draft={draftMemberOf(draft, name)}
        isNeeded={isRequired(schema, name)}
        depth={depth + 1}
        onDraft={next => onDraft({ ...(draft as object), [name]: next })}
      />
    ))}
  </>
)

const ArrayField = ({ id, label, schema, draft, depth, onDraft }: FieldProps) => {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : []
  const item = asSchema(schema.items)
  return (
    <fieldset>
      <legend>{label}</legend>
      {items.map((one, n) => (
        <div class="row" key={n}>
          <Field
            id={`${id}.${n}`}
            label={`${label} ${n + 1}`}
            schema={item}
            draft={one}
            isNeeded={false}
            depth={depth + 1}
            onDraft={next => onDraft(items.map((old, at) => (at === n ? next : old)))}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${label} ${n + 1}`}
            onClick={() => onDraft(items.filter((_, at) => at !== n))}
          >
            remove
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onDraft([...items, emptyDraft(item, depth + 1)])}>
        Add {label}
      </button>
    </fieldset>
  )
}

/** A line of the audit log, on its way to its destinations. */
export interface AuditLine {
  /** A JSON object, without a line feed. */
  readonly text: string
  /** True if the line is kept while the disk fails: it reports a refusal, an approval or a changed tool. */
  readonly isKept: boolean
  /** Receives the line as it was written, once. */
  onText: ((text: string) => void) | undefined
}

/** Receives the lines of the audit log. */
export interface AuditSink {
  /** False while lines are lost. */
  readonly isAvailable: boolean
  write(line: AuditLine): void
  /** Opens the file again after a rotation. */
  reopen(): void
  /** Resolves when all lines are written. Never rejects. */
  close(): Promise<void>
}

/** Passes on the text of a line to its other destination, unless it was passed on already. */
export const passOn = (line: AuditLine, text: string = line.text): void => {
  line.onText?.(text)
  line.onText = undefined
}

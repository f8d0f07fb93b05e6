/** How many runs of a property count, in hundredths: CI asks for all of them, a change under way for some. */
const PERCENT = Number(process.env['PROPERTY_PERCENT'] ?? '20')

/** Options of `fc.assert` for a property that is run so often when all runs count. */
export const runs = (count: number): { readonly numRuns: number } => ({
  numRuns: Math.max(20, Math.round((count * PERCENT) / 100)),
})

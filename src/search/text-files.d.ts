/** A text file, which esbuild bundles as a string. */
declare module '*.txt' {
  const text: string
  export default text
}

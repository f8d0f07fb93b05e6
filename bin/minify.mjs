// Minifies what esbuild wrote once more, for bin/build.mjs: swc finds another 3 % of the packed package.
import { minify } from '@swc/core'

/**
 * Resolves with shorter code and its source map. `wrap` has a line to put before the code and a text to put
 * after it, if it is the body of a function; names of the code are shortened in any case.
 */
export const minifyMore = async ({ code, map, isModule, wrap: [before, after] = ['', ''] }) => {
  const shorter = await minify(code, {
    module: isModule,
    toplevel: true,
    ecma: 2022,
    compress: { ecma: 2022, passes: 2 },
    mangle: true,
    // bin/parts.cjs reads one byte per character.
    format: { asciiOnly: true },
    sourceMap: { content: map },
  })
  const { mappings, ...rest } = JSON.parse(shorter.map)
  return {
    code: before + shorter.code + after,
    map: JSON.stringify({ ...rest, mappings: (before === '' ? '' : ';') + mappings }),
  }
}

import { createRequire } from 'node:module'
import type * as Zod from 'zod'

/**
 * Zod, loaded as CommonJS: one file after the other. As a module it opens its messages in 60 languages all at once, which is
 * more files than a process may have open that is kept short of them.
 */
export const { z } = createRequire(import.meta.url)('zod') as typeof Zod

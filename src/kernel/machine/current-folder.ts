import { cwd } from 'node:process'

/** Reports whether the current folder still exists. */
export const hasCurrentFolder = (): boolean => {
  try {
    cwd()
    return true
  } catch {
    return false
  }
}

/** The error for a deleted current folder. */
export const NO_FOLDER = {
  message: 'the current folder does not exist',
  why: 'it was deleted or moved; nothing was done',
  fix: 'change to a folder that exists, such as: cd ~',
} as const

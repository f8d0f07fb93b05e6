import type { CauseRows } from '../row.js'

/** This machine and the installation. */
export const MACHINE_CAUSES = {
  D001: {
    about: 'the version of Node',
    level: 'error',
    says: 'Node {version} is too old',
    fix: 'install Node 20.19, or 22.12 or newer: https://nodejs.org',
  },
  D002: {
    about: 'our own files',
    level: 'error',
    says: 'the installation in {folder} is damaged or half updated',
    fix: "npm ci --prefix {'folder'}",
  },
  D004: {
    about: 'installations on PATH',
    says: '{one} and {other} are different installations',
    fix: 'remove one of them: npm uninstall -g mcp-proxy-daemon, using the npm in its folder',
  },
  D005: {
    about: 'the mcp-proxy on PATH',
    says: '{path} is another program of that name',
    fix: 'use {own}',
  },
  'D005.package': { why: 'it belongs to the package {package}' },
  D006: {
    about: 'the folder of our state',
    level: 'error',
    says: 'cannot write {path}',
    fix: "chmod 700 {'path'}",
    autoFix: 'gives the folder the rights 0700',
  },
  'D006.foreign': {
    why: 'it is a link or a file, or belongs to another user',
    fix: `sudo chown -R "$(id -un)" {'path'}`,
  },
  'D006.blocked': {
    why: 'it, or a part of its path, is a file or may not be written',
    fix: 'make it a folder of your own',
  },
  'D006.full': { why: 'only {megabytes} MB are free there', fix: 'make room on that disk' },
  'D006.open': {
    level: 'warn',
    says: 'others can read {path}',
    why: 'others of this machine may look into it',
  },
} as const satisfies CauseRows

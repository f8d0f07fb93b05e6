/** What our exit codes mean; part of the interface of every verb, so they never change. */
export const EXIT = {
  ok: 0,
  negative: 1,
  usage: 2,
  configuration: 3,
  failure: 4,
} as const

/** The same for people, as the help shows it; codes of signals are those of shells (128 and the signal's number). */
export const EXIT_TABLE = `Exit codes:
  0    done; serve, stdio and bridge also after SIGINT or SIGTERM
  1    the tool answered with an error (call), errors were found (check), or mcp-proxy itself crashed
  2    the command line is wrong
  3    the configuration cannot be used
  4    no server could be reached, the call failed, or the port or socket could not be had
  129  SIGHUP, 130 SIGINT, 143 SIGTERM: list and call, and any verb at the second signal`

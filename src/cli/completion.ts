import { print } from './shared/output/output.js'
import { defineVerb, EXIT } from './shared/verb.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completion = defineVerb({
  usage: 'completion <shell>',
  needs: 'the name of a shell: bash, zsh or fish',
  describe: 'Print a script that completes commands, options, servers, tools and clients in a shell',
  flags: {},
  positionals: { shell: { choices: SHELLS, demandOption: true, describe: 'The shell that runs it' } },
  examples: [
    ['mcp-proxy completion bash >> ~/.bashrc', 'For all bash sessions from now on'],
    ['mcp-proxy completion zsh >> ~/.zshrc', 'For all zsh sessions; add it after compinit'],
    ['mcp-proxy completion fish > ~/.config/fish/completions/mcp-proxy.fish', 'For all fish sessions'],
  ],
  async run({ shell }) {
    if (shell === 'fish') print(FISH)
    else {
      const { default: yargs } = await import('yargs')
      // yargs selects the shell by this variable.
      process.env['SHELL'] = shell
      yargs().scriptName('mcp-proxy').showCompletionScript()
    }
    return EXIT.ok
  },
})

const FISH = `complete -c mcp-proxy -f -a '(mcp-proxy --get-yargs-completions fish mcp-proxy (commandline -opc)[2..-1] (commandline -ct))'
complete -c mcp-proxy -l config -l file -r -F`

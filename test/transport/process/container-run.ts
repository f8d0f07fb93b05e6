import t from 'tap'
import { containerRun } from '../../../src/transport/process/container-run.js'

const at = { cwd: '/w', ours: '/run/o.cid' }

t.test('a command line that runs a container gets a file for its id', async t => {
  const table: [words: string, line: string, stop: string][] = [
    ['docker run -i --rm x', 'docker run --cidfile /run/o.cid -i --rm x', 'docker'],
    ['podman run x', 'podman run --cidfile /run/o.cid x', 'podman'],
    [
      '/usr/bin/docker container run x',
      '/usr/bin/docker container run --cidfile /run/o.cid x',
      '/usr/bin/docker',
    ],
    ['docker.exe run x', 'docker.exe run --cidfile /run/o.cid x', 'docker.exe'],
    [
      'docker --context c -H h run x',
      'docker --context c -H h run --cidfile /run/o.cid x',
      'docker --context c -H h',
    ],
    [
      'podman --remote --url=u run x',
      'podman --remote --url=u run --cidfile /run/o.cid x',
      'podman --remote --url=u',
    ],
    ['sudo -n docker run x', 'sudo -n docker run --cidfile /run/o.cid x', 'sudo -n docker'],
    ['env A=secret docker run x', 'env A=secret docker run --cidfile /run/o.cid x', 'docker'],
    ['sudo -n TOKEN=s docker run x', 'sudo -n TOKEN=s docker run --cidfile /run/o.cid x', 'sudo -n docker'],
    [
      'timeout 9 sudo -u x docker run x',
      'timeout 9 sudo -u x docker run --cidfile /run/o.cid x',
      'sudo -u x docker',
    ],
    [
      'runuser -u x -- docker run x',
      'runuser -u x -- docker run --cidfile /run/o.cid x',
      'runuser -u x -- docker',
    ],
    ['nice -n 5 docker run x', 'nice -n 5 docker run --cidfile /run/o.cid x', 'docker'],
    ['cmd /c docker run x', 'cmd /c docker run --cidfile /run/o.cid x', 'cmd /c docker'],
    ['docker run -i x --cidfile theirs', 'docker run --cidfile /run/o.cid -i x --cidfile theirs', 'docker'],
  ]
  for (const [words, line, stop] of table) {
    const [command = '', ...args] = words.split(' ')
    const run = containerRun(command, args, at)
    t.equal([run?.command, ...(run?.args ?? [])].join(' '), line, words)
    t.match(
      run,
      { cidfile: '/run/o.cid', isGiven: false, stop: [...stop.split(' '), 'stop', '-t', '5'] },
      words,
    )
  }
})

t.test('a file that the arguments name is used instead', async t => {
  for (const [words, cidfile] of [
    ['docker run --cidfile /x/a.cid x', '/x/a.cid'],
    ['docker run -i -e K --cidfile=a.cid x', '/w/a.cid'],
    ['docker run -p8080:80 -v/a:/b -itu1000 --cidfile /x/a.cid x', '/x/a.cid'],
    ['docker run --rm --name n -it --cidfile a.cid x', '/w/a.cid'],
  ] as const) {
    const [command = '', ...args] = words.split(' ')
    t.match(containerRun(command, args, at), { args, cidfile, isGiven: true }, words)
  }
})

t.test('a script of a shell that runs a container gets the file too', async t => {
  const inShell = (script: string, shell = ['sh', '-c']) => {
    const [command = '', ...args] = [...shell, script]
    return containerRun(command, args, at)
  }
  t.match(inShell('exec docker run -i "$IMAGE"'), {
    args: ['-c', 'exec docker run --cidfile \'/run/o.cid\' -i "$IMAGE"'],
    stop: ['docker', 'stop'],
  })
  t.match(inShell('cd /x && podman --log-level debug run x', ['/bin/bash', '-lc']), {
    args: ['-lc', "cd /x && podman --log-level debug run --cidfile '/run/o.cid' x"],
    stop: ['podman', '--log-level', 'debug', 'stop'],
  })
  t.match(inShell('docker run x', ['cmd', '/c']), { args: ['/c', 'docker run --cidfile "/run/o.cid" x'] })
  t.match(inShell("docker run --cidfile '/x/a b.cid' x"), { cidfile: '/x/a b.cid', isGiven: true })
  for (const script of ['docker run --cidfile "$F" x', 'echo docker', 'docker ps', 'mydocker run x'])
    t.equal(inShell(script), undefined, script)
})

t.test('variables that select the daemon are kept, and no others', async t => {
  const env = { DOCKER_HOST: 'tcp://a:1', DOCKER_CONTEXT: 'c' }
  for (const words of [
    ['env', 'DOCKER_HOST=tcp://a:1', 'TOKEN=s', 'DOCKER_CONTEXT=c', 'docker', 'run', '-i', 'x'],
    ['env', '-S', 'DOCKER_HOST=tcp://a:1 DOCKER_CONTEXT=c docker run -i x'],
    ['sh', '-c', `export DOCKER_HOST='tcp://a:1' T=s; DOCKER_CONTEXT="c" exec docker run -i x`],
    ['sg', 'docker', '-c', 'DOCKER_HOST=tcp://a:1 DOCKER_CONTEXT=c docker run -e DOCKER_X=1 -i x'],
  ]) {
    const [command = '', ...args] = words
    const run = containerRun(command, args, at)
    t.same(run?.env, env, words.join(' '))
    t.match(run?.args.join(' '), /docker run --cidfile '?\/run\/o\.cid'? -/)
  }
})

t.test('a script that runs as another user or group is stopped as that one', async t => {
  for (const [words, stop] of [
    [
      ['sg', 'docker', '-c'],
      ['sg', 'docker', '-c', 'docker stop -t 5'],
    ],
    [
      ['sg', 'docker'],
      ['sg', 'docker', 'docker stop -t 5'],
    ],
    [
      ['sudo', '-n', 'sg', 'docker', '-c'],
      ['sudo', '-n', 'sg', 'docker', '-c', 'docker stop -t 5'],
    ],
    [
      ['su', '-', 'docker', '-c'],
      ['su', '-', 'docker', '-c', 'docker stop -t 5'],
    ],
    [
      ['runuser', '-l', 'u', '--command'],
      ['runuser', '-l', 'u', '--command', 'docker stop -t 5'],
    ],
    [
      ['sudo', 'bash', '-lc'],
      ['sudo', 'bash', '-lc', 'docker stop -t 5'],
    ],
    [
      ['script', '-qec'],
      ['docker', 'stop', '-t', '5'],
    ],
    [
      ['flock', '/l', '-c'],
      ['docker', 'stop', '-t', '5'],
    ],
    [
      ['pwsh', '-NoProfile', '-Command'],
      ['docker', 'stop', '-t', '5'],
    ],
  ] as const) {
    const [command, ...args] = [...words, 'docker run -i x']
    const run = containerRun(command, args, at)
    t.equal(run?.args.at(-1), "docker run --cidfile '/run/o.cid' -i x", words.join(' '))
    t.same(run?.stop, stop)
  }
  for (const words of [
    ['ssh', 'host', 'sh', '-c'],
    ['sg', 'docker', '-c', 'id', '-x'],
  ]) {
    const [command = '', ...args] = [...words, 'docker run -i x']
    t.equal(containerRun(command, args, at), undefined, words.join(' '))
  }
})

t.test('other command lines stay as they are', async t => {
  for (const words of [
    'docker ps',
    'docker exec -i c x',
    'docker compose run x',
    'docker',
    'npx run',
    'ssh host docker run x',
    'wsl docker run x',
    'node docker-run.js run',
  ]) {
    const [command = '', ...args] = words.split(' ')
    t.equal(containerRun(command, args, at), undefined, words)
  }
})

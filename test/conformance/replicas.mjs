// Three replicas in front of the fixture that is named, behind a balancer that goes round; prints its URL.
// Ends with its input, and all that it started with it. Needs redis-server.
import { startRedis } from '../fixtures/redis.mjs'
import { startRoundRobin } from '../fixtures/round-robin.mjs'
import { replicaConfig, startReplicas } from '../soak/replica-set.js'

const [fixture] = process.argv.slice(2)

const redis = await startRedis()
let replicas = []
const end = () => {
  for (const one of replicas) one.kill()
  redis.child.kill('SIGKILL')
  process.exit(0)
}
process.stdin.resume().once('end', end)
process.once('SIGTERM', end)

const server = { command: process.execPath, args: [fixture, 'stdio'], prefix: false, uris: 'preserve' }
replicas = await startReplicas(3, replicaConfig(redis, { s: server }))
console.log((await startRoundRobin(replicas.map(({ url }) => new URL(url)))).url)

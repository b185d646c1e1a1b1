// The E2B SDK as it is, on your own machine:
//
//   npm install @e2b/code-interpreter
//   paddock serve --listen 127.0.0.1:7070 &
//   export E2B_API_KEY=$(paddock key create) E2B_API_URL=http://127.0.0.1:7070 E2B_SANDBOX_URL=http://127.0.0.1:7070
//   node examples/e2b_agent.mjs
import { Sandbox } from '@e2b/code-interpreter'

const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
console.log('a sandbox:', sandbox.sandboxId)

await sandbox.runCode('x = 20')
const execution = await sandbox.runCode('x + 1')
console.log('code:', execution.text)

await sandbox.files.write('hello.txt', 'hello from here')
const done = await sandbox.commands.run('cat hello.txt; whoami', { onStdout: (text) => console.log('  said:', text.trim()) })
console.log('exit code:', done.exitCode)

await sandbox.kill()

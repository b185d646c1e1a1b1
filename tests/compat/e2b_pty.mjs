// sandbox.pty of the E2B SDK.
import { assert, sdk, sandboxTest, eventually } from './support.mjs'

const decode = (pieces) => Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()

sandboxTest('a terminal takes input and has its size', async (sandbox) => {
  const seen = []
  const terminal = await sandbox.pty.create({ cols: 100, rows: 30, onData: (data) => seen.push(data), envs: { ABC: 'xyz' } })
  assert.ok(terminal.pid > 0)
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; echo env-$ABC; tty\n'))
  await eventually(() => /30 100/.test(decode(seen)) && /env-xyz/.test(decode(seen)) && /\/dev\/pts\//.test(decode(seen)), 'the answers')
  await sandbox.pty.resize(terminal.pid, { cols: 80, rows: 24 })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'))
  await eventually(() => /24 80/.test(decode(seen)), 'the new size')
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('exit 0\n'))
  const end = await terminal.wait()
  assert.equal(end.exitCode, 0)
})

sandboxTest('a terminal is killed', async (sandbox) => {
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  assert.equal(await sandbox.pty.kill(terminal.pid), true)
  await assert.rejects(terminal.wait(), sdk.CommandExitError)
  assert.equal(await sandbox.pty.kill(terminal.pid), false)
})

sandboxTest('a terminal is connected to again', async (sandbox) => {
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  await terminal.disconnect()
  const seen = []
  const again = await sandbox.pty.connect(terminal.pid, { onData: (data) => seen.push(data) })
  await sandbox.pty.sendInput(again.pid, new TextEncoder().encode('echo a$((40+2))b\n'))
  await eventually(() => /a42b/.test(decode(seen)), 'output on the second connection')
  await again.kill()
})

sandboxTest('signals reach the foreground program', async (sandbox) => {
  const seen = []
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => seen.push(data) })
  // The terminal echoes before the shell reads, and a shell that is still starting dies of ^C.
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('echo begun$((1+1)); sleep 1000; echo "status=$?"\n'))
  await eventually(() => /begun2/.test(decode(seen)), 'the shell')
  await eventually(async () => {
    await sandbox.pty.sendInput(terminal.pid, new Uint8Array([3]))
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('echo back$((1+1))\n'))
    return /back2/.test(decode(seen))
  }, 'the shell after ^C')
  await terminal.kill()
})

// sandbox.commands of the E2B SDK.
import { assert, sdk, sandboxTest, eventually, user, wait } from './support.mjs'

sandboxTest('runs a command and gives its output', async (sandbox) => {
  const result = await sandbox.commands.run('echo hello; echo oops >&2')
  assert.equal(result.exitCode, 0)
  assert.equal(result.stdout, 'hello\n')
  assert.equal(result.stderr, 'oops\n')
})

sandboxTest('special characters and lines arrive as they are', async (sandbox) => {
  const text = '!@#$%^&*()_+ "quotes" \'single\' äöü 漢字 🎉\nsecond line'
  const result = await sandbox.commands.run(`cat <<'END'\n${text}\nEND`)
  assert.equal(result.stdout, text + '\n')
})

sandboxTest('a failing command raises CommandExitError', async (sandbox) => {
  await assert.rejects(sandbox.commands.run('echo out; echo err >&2; exit 3'), (error) => {
    assert.ok(error instanceof sdk.CommandExitError)
    assert.equal(error.exitCode, 3)
    assert.equal(error.stdout, 'out\n')
    assert.equal(error.stderr, 'err\n')
    assert.match(error.message, /exit status 3/)
    return true
  })
})

sandboxTest('an unknown command ends with 127', async (sandbox) => {
  await assert.rejects(sandbox.commands.run('no-such-program'), (error) => error instanceof sdk.CommandExitError && error.exitCode === 127)
})

sandboxTest('output comes while the command runs', async (sandbox) => {
  const seen = []
  const command = await sandbox.commands.run('echo one; read line; echo "two $line"', { background: true, stdin: true, onStdout: (text) => seen.push(text) })
  await eventually(() => seen.join('') === 'one\n', 'the first line')
  await sandbox.commands.sendStdin(command.pid, 'go\n')
  const result = await command.wait()
  assert.equal(result.stdout, 'one\ntwo go\n')
  assert.equal(seen.join(''), 'one\ntwo go\n')
})

sandboxTest('much output arrives whole', async (sandbox) => {
  const result = await sandbox.commands.run('head -c 20000000 /dev/zero | tr "\\0" x')
  assert.equal(result.stdout.length, 20_000_000)
})

sandboxTest('characters that are split between pieces stay whole', async (sandbox) => {
  const program = 'import sys,time\nfor b in "é漢🎉".encode()*3:\n sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.01)'
  await sandbox.files.write('split.py', program)
  const result = await sandbox.commands.run('python3 split.py')
  assert.equal(result.stdout, 'é漢🎉'.repeat(3))
})

sandboxTest('environment of the sandbox, of the call, and their order', { envs: { FOO: 'sandbox', BAR: 'kept' } }, async (sandbox) => {
  const result = await sandbox.commands.run('echo $FOO $BAR', { envs: { FOO: 'call' } })
  assert.equal(result.stdout.trim(), 'call kept')
  const plain = await sandbox.commands.run('echo $FOO; echo $E2B_SANDBOX; echo $E2B_SANDBOX_ID; echo $HOME; echo $USER')
  assert.deepEqual(plain.stdout.trim().split('\n'), ['sandbox', 'true', sandbox.sandboxId, '/home/user', 'user'])
})

sandboxTest('nothing of the server\'s own environment is inside', async (sandbox) => {
  const result = await sandbox.commands.run('env')
  assert.doesNotMatch(result.stdout, /PADDOCK_STATE|XDG_|SSH_/)
})

sandboxTest('the working directory', async (sandbox) => {
  assert.equal((await sandbox.commands.run('pwd')).stdout.trim(), '/home/user')
  assert.equal((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout.trim(), '/tmp')
  await assert.rejects(sandbox.commands.run('pwd', { cwd: '/no/such/place' }), (error) => error instanceof sdk.InvalidArgumentError && /does not exist/.test(error.message))
})

sandboxTest('users', async (sandbox) => {
  assert.equal((await sandbox.commands.run('whoami')).stdout.trim(), user)
  assert.equal((await sandbox.commands.run('whoami', { user: 'root' })).stdout.trim(), 'root')
  await assert.rejects(sandbox.commands.run('whoami', { user: 'nobody-at-all' }), (error) => {
    assert.ok(error instanceof sdk.AuthenticationError, String(error))
    assert.match(error.message, /invalid username: 'nobody-at-all'/)
    return true
  })
})

sandboxTest('a background command is listed, connected to and killed', async (sandbox) => {
  const command = await sandbox.commands.run('echo started; sleep 1000', { background: true })
  const listed = await sandbox.commands.list()
  const entry = listed.find((process) => process.pid === command.pid)
  assert.ok(entry)
  assert.equal(entry.cmd, '/bin/bash')
  assert.deepEqual(entry.args, ['-l', '-c', 'echo started; sleep 1000'])
  const again = await sandbox.commands.connect(command.pid)
  assert.equal(again.pid, command.pid)
  assert.equal(await sandbox.commands.kill(command.pid), true)
  await assert.rejects(again.wait(), (error) => error instanceof sdk.CommandExitError && /signal: killed/.test(error.message))
  assert.equal(await sandbox.commands.kill(command.pid), false)
  assert.equal((await sandbox.commands.list()).some((process) => process.pid === command.pid), false)
})

sandboxTest('kill by handle', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 1000', { background: true })
  assert.equal(await command.kill(), true)
  await assert.rejects(command.wait(), sdk.CommandExitError)
})

sandboxTest('connecting to nobody is NotFoundError', async (sandbox) => {
  await assert.rejects(sandbox.commands.connect(999999), sdk.NotFoundError)
})

sandboxTest('connecting to a command that has ended tells its end', async (sandbox) => {
  const command = await sandbox.commands.run('exit 7', { background: true })
  await assert.rejects(command.wait(), sdk.CommandExitError)
  const late = await sandbox.commands.connect(command.pid)
  await assert.rejects(late.wait(), (error) => error.exitCode === 7)
})

sandboxTest('stdin: sent, closed, absent', async (sandbox) => {
  const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
  await sandbox.commands.sendStdin(cat.pid, 'hello ')
  await sandbox.commands.sendStdin(cat.pid, 'wörld\n')
  await sandbox.commands.closeStdin(cat.pid)
  assert.equal((await cat.wait()).stdout, 'hello wörld\n')
  assert.equal((await sandbox.commands.run('cat; echo end')).stdout, 'end\n')
  await assert.rejects(sandbox.commands.sendStdin(999999, 'x'), sdk.NotFoundError)
})

sandboxTest('a megabyte through stdin', async (sandbox) => {
  const command = await sandbox.commands.run('wc -c', { background: true, stdin: true })
  await sandbox.commands.sendStdin(command.pid, 'x'.repeat(1_000_000))
  await sandbox.commands.closeStdin(command.pid)
  assert.equal((await command.wait()).stdout.trim(), '1000000')
})

sandboxTest('a timeout ends the command with TimeoutError', async (sandbox) => {
  await assert.rejects(sandbox.commands.run('sleep 1000', { timeoutMs: 1000 }), sdk.TimeoutError)
  await eventually(async () => (await sandbox.commands.list()).length === 0, 'the command is gone')
})

sandboxTest('without a timeout a command runs on', async (sandbox) => {
  const result = await sandbox.commands.run('sleep 2; echo done', { timeoutMs: 0 })
  assert.equal(result.stdout, 'done\n')
})

sandboxTest('disconnecting leaves the command running', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 1000', { background: true })
  await command.disconnect()
  await wait(200)
  assert.ok((await sandbox.commands.list()).some((process) => process.pid === command.pid))
})

sandboxTest('a killed sandbox ends its commands with TimeoutError', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 1000', { background: true })
  const ended = assert.rejects(command.wait(), (error) => {
    assert.ok(error instanceof sdk.TimeoutError, `${error?.constructor?.name}: ${error}`)
    return true
  })
  await wait(200)
  await sandbox.kill()
  await ended
})

sandboxTest('many commands at once', async (sandbox) => {
  const results = await Promise.all(Array.from({ length: 40 }, (_, i) => sandbox.commands.run(`echo ${i}`)))
  assert.deepEqual(results.map((result) => result.stdout.trim()), Array.from({ length: 40 }, (_, i) => String(i)))
})

sandboxTest('sudo works', async (sandbox) => {
  assert.equal((await sandbox.commands.run('sudo whoami')).stdout.trim(), 'root')
})

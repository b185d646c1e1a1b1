// Contexts: their own state, languages, directories; restart and removal.
import { assert, codeTest, NotFoundError } from './code_support.mjs'

codeTest('the default contexts are listed, and new ones at the end', async (sandbox) => {
  const before = await sandbox.listCodeContexts()
  assert.deepEqual(before.map((context) => context.language), ['python', 'javascript'])
  const made = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.deepEqual({ language: made.language, cwd: made.cwd }, { language: 'python', cwd: '/tmp' })
  assert.deepEqual((await sandbox.listCodeContexts()).at(-1), made)
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context: made })).text, '/tmp')
})

codeTest('contexts do not share state', async (sandbox) => {
  await sandbox.runCode('x = 1')
  const context = await sandbox.createCodeContext()
  assert.equal((await sandbox.runCode('x', { context })).error.value, "name 'x' is not defined")
})

codeTest('a directory that only root may enter', async (sandbox) => {
  const context = await sandbox.createCodeContext({ language: 'python', cwd: '/root' })
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/root')
})

codeTest('restart forgets, and keeps the id', async (sandbox) => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  await sandbox.runCode('x = 1', { context })
  await sandbox.restartCodeContext(context.id)
  const execution = await sandbox.runCode('x', { context })
  assert.deepEqual([execution.error.name, execution.error.value], ['NameError', "name 'x' is not defined"])
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
})

codeTest('a cell that runs is told of the restart', async (sandbox) => {
  const context = await sandbox.createCodeContext()
  let restarted
  const execution = await sandbox.runCode('print("begun")\nimport time; time.sleep(100)', {
    context,
    onStdout: () => { restarted = sandbox.restartCodeContext(context) },
  })
  await restarted
  assert.equal(execution.error.name, 'ContextRestarting')
  assert.equal((await sandbox.runCode('1 + 1', { context })).text, '2')
})

codeTest('a removed context is gone', async (sandbox) => {
  const context = await sandbox.createCodeContext()
  await sandbox.removeCodeContext(context)
  assert.ok(!(await sandbox.listCodeContexts()).some((one) => one.id === context.id))
  await assert.rejects(sandbox.runCode('1', { context }), NotFoundError)
  await assert.rejects(sandbox.removeCodeContext(context.id), NotFoundError)
  await assert.rejects(sandbox.restartCodeContext('no-such-context'), NotFoundError)
})

codeTest('cells of a context wait for each other, those of others do not', async (sandbox) => {
  const other = await sandbox.createCodeContext()
  const order = []
  let slow
  await new Promise((begun) => {
    slow = sandbox.runCode('import os, time\nprint("begun")\nwhile not os.path.exists("/tmp/go"): time.sleep(0.02)', { onStdout: begun }).then(() => order.push('slow'))
  })
  const queued = sandbox.runCode('1').then(() => order.push('queued'))
  await sandbox.runCode('1', { context: other }).then(() => order.push('other'))
  await sandbox.files.write('/tmp/go', '')
  await Promise.all([slow, queued])
  assert.deepEqual(order, ['other', 'slow', 'queued'])
})

codeTest('a context and a language together are refused', async (sandbox) => {
  const context = await sandbox.createCodeContext()
  await assert.rejects(sandbox.runCode('1', { context, language: 'python' }))
})

codeTest('with a traffic token', { secure: true, network: { allowPublicTraffic: false } }, async (sandbox) => {
  assert.equal((await sandbox.runCode('x = 1; x')).text, '1')
  const context = await sandbox.createCodeContext()
  assert.equal((await sandbox.listCodeContexts()).at(-1).id, context.id)
  const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/contexts`, { headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49999' } })
  assert.equal(answer.status, 403)
})

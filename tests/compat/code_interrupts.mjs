// Clients that go, sandboxes that end.
import { assert, codeTest, TimeoutError, wait } from './code_support.mjs'

for (const [language, code] of [
  ['python', 'import time; time.sleep(300)'],
  ['python', 'while True: pass'],
  ['javascript', 'while (true) {}'],
  ['javascript', 'await new Promise((done) => setTimeout(done, 300000))'],
  ['bash', 'sleep 300'],
]) {
  codeTest(`a cell whose client went is interrupted: ${code}`, async (sandbox) => {
    await sandbox.runCode({ python: 'kept = 1', javascript: 'let kept = 1', bash: 'kept=1' }[language], { language })
    await assert.rejects(sandbox.runCode(code, { language, timeoutMs: 1_000 }), TimeoutError)
    const next = await sandbox.runCode(language === 'bash' ? 'echo $kept' : 'kept', { language, timeoutMs: 20_000 })
    assert.equal(language === 'bash' ? next.logs.stdout.join('').trim() : next.text, '1')
  })
}

codeTest('one that does not listen to interrupts is replaced', async (sandbox) => {
  const deaf = 'import signal, time\nwhile True:\n    try:\n        time.sleep(100)\n    except BaseException:\n        pass'
  await assert.rejects(sandbox.runCode(deaf, { timeoutMs: 1_000 }), TimeoutError)
  assert.equal((await sandbox.runCode('1 + 1', { timeoutMs: 30_000 })).text, '2')
})

codeTest('a client that went while it waited for its turn', async (sandbox) => {
  let first
  await new Promise((begun) => {
    first = sandbox.runCode('import os, time\nprint("begun")\nwhile not os.path.exists("/tmp/go"): time.sleep(0.02)\n"done"', { onStdout: begun })
  })
  await assert.rejects(sandbox.runCode('open("/tmp/ran", "w")', { timeoutMs: 500 }), TimeoutError)
  await sandbox.files.write('/tmp/go', '')
  assert.equal((await first).text, 'done')
  assert.equal((await sandbox.runCode('os.path.exists("/tmp/ran")')).text, 'False')
})

codeTest('a sandbox that is killed under a cell', async (sandbox) => {
  const running = sandbox.runCode('print("begun")\nimport time; time.sleep(300)', { timeoutMs: 100_000, onStdout: () => { wait(50).then(() => sandbox.kill()) } })
  await assert.rejects(running, (error) => error instanceof TimeoutError && /killed while the request was in progress/.test(error.message))
})

// Cells: state, results, output, errors, what clients are told while a cell runs.
import { assert, codeTest, Sandbox } from './code_support.mjs'

codeTest('state stays between cells', async (sandbox) => {
  await sandbox.runCode('x = 1')
  const execution = await sandbox.runCode('x += 1; x')
  assert.equal(execution.text, '2')
  assert.equal(execution.executionCount, 2)
  assert.equal(execution.results[0].isMainResult, true)
})

codeTest('callbacks hear everything once', async (sandbox) => {
  const heard = { stdout: [], stderr: [], results: [], errors: [] }
  const execution = await sandbox.runCode('import sys\nprint("out")\nprint("bad", file=sys.stderr)\ndisplay("shown")\n1/0', {
    onStdout: (message) => heard.stdout.push(message.line),
    onStderr: (message) => heard.stderr.push(message.line),
    onResult: (result) => heard.results.push(result.text),
    onError: (error) => heard.errors.push(error.name),
  })
  assert.deepEqual(heard, { stdout: ['out\n'], stderr: ['bad\n'], results: ['shown'], errors: ['ZeroDivisionError'] })
  assert.deepEqual(execution.logs, { stdout: ['out\n'], stderr: ['bad\n'] })
  assert.equal(execution.error.value, 'division by zero')
  assert.match(execution.error.traceback, /ZeroDivisionError/)
})

codeTest('output arrives while the cell runs', async (sandbox) => {
  let first, written
  const done = sandbox.runCode('import os, time\nprint("begun")\nwhile not os.path.exists("/tmp/go"): time.sleep(0.02)\nprint("ended")', {
    onStdout: (message) => { first ??= message.line; if (message.line === 'begun\n') written = sandbox.files.write('/tmp/go', '') },
  })
  const execution = await done
  await written  // its answer may come after the cell has seen the file
  assert.equal(first, 'begun\n')
  assert.deepEqual(execution.logs.stdout, ['begun\n', 'ended\n'])
})

codeTest('commands, magics, await, the working directory', async (sandbox) => {
  assert.equal((await sandbox.runCode('!pwd')).logs.stdout.join('').trim(), '/home/user')
  assert.equal((await sandbox.runCode('%%bash\necho $((1 + 1))')).logs.stdout.join(''), '2\n')
  assert.equal((await sandbox.runCode('import asyncio\nawait asyncio.sleep(0.01)\n"awaited"')).text, 'awaited')
  assert.equal((await sandbox.runCode('open("made.txt", "w").write("hello")')).text, '5')
  assert.equal(await sandbox.files.read('/home/user/made.txt'), 'hello')
})

codeTest('formats of results', async (sandbox) => {
  const code = `
class Rich:
    def _repr_html_(self): return '<b>'
    def _repr_markdown_(self): return '# m'
    def _repr_svg_(self): return '<svg/>'
    def _repr_latex_(self): return '$x$'
    def _repr_json_(self): return {'k': 1}
    def _repr_javascript_(self): return 'alert(1)'
    def _repr_png_(self): return b'png'
    def _repr_jpeg_(self): return b'jpeg'
    def _repr_pdf_(self): return b'pdf'
Rich()`
  const [result] = (await sandbox.runCode(code)).results
  const { html, markdown, svg, latex, json, javascript, png, jpeg, pdf } = result
  const bytes = (text) => Buffer.from(text).toString('base64')
  assert.deepEqual({ html, markdown, svg, latex, json, javascript, png, jpeg, pdf },
    { html: '<b>', markdown: '# m', svg: '<svg/>', latex: '$x$', json: { k: 1 }, javascript: 'alert(1)', png: bytes('png'), jpeg: bytes('jpeg'), pdf: bytes('pdf') })
  assert.deepEqual(result.extra, {})
})

codeTest('a kernel that dies is told and replaced', async (sandbox) => {
  await sandbox.runCode('kept = 1')
  const died = await sandbox.runCode('import os; os._exit(3)')
  assert.equal(died.error.name, 'KernelDied')
  assert.equal((await sandbox.runCode('"kept" in globals()')).text, 'False')
})

codeTest('a sandbox that is connected to has the same state', async (sandbox) => {
  await sandbox.runCode('here = 5')
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await again.runCode('here')).text, '5')
})

codeTest('state survives a pause', async (sandbox) => {
  await sandbox.runCode('here = 6')
  if (!(await (sandbox.pause ?? sandbox.betaPause).call(sandbox))) return
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await again.runCode('here')).text, '6')
})

codeTest('large output comes whole', async (sandbox) => {
  const execution = await sandbox.runCode('for i in range(2000): print("x" * 1000)')
  assert.equal(execution.logs.stdout.join('').length, 2000 * 1001)
})

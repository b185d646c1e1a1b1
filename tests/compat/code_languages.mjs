// Languages and environments.
import { assert, codeTest } from './code_support.mjs'

codeTest('javascript', async (sandbox) => {
  const js = (code, options = {}) => sandbox.runCode(code, { language: 'js', ...options })
  assert.deepEqual((await js('console.log("Hello World!")')).logs.stdout, ['Hello World!\n'])
  assert.deepEqual((await js("\n    import { readFileSync } from 'fs'\n    console.log(typeof readFileSync)\n    ")).logs.stdout, ['function\n'])
  assert.equal((await js("await Promise.resolve('Hello World!')")).text, 'Hello World!')
  assert.equal((await js('process.cwd()')).text, '/home/user')
  await js('const n = 1')
  assert.equal((await js('const n = 2; n', { language: 'javascript' })).text, '2')
  assert.equal((await js('null.x')).error.name, 'TypeError')
})

codeTest('typescript', async (sandbox) => {
  const ts = (code) => sandbox.runCode(code, { language: 'ts' })
  assert.deepEqual((await ts('const message: string = "Hello World!"; console.log(message)')).logs.stdout, ['Hello World!\n'])
  assert.equal((await ts('process.cwd()')).text, '/home/user')
})

codeTest('bash', async (sandbox) => {
  const bash = (code) => sandbox.runCode(code, { language: 'bash' })
  assert.equal((await bash('pwd; x=5')).logs.stdout.join('').trim(), '/home/user')
  assert.equal((await bash('echo $x')).logs.stdout.join(''), '5\n')
  assert.equal((await bash('exit 3')).error.value, '3')
})

codeTest('r', async (sandbox) => {
  const r = (code) => sandbox.runCode(code, { language: 'R' })
  const { error } = await r('x <- 20')
  if (error?.name === 'KernelNotStarted') return assert.match(error.value, /R \(r-base-core\) and python3 is not installed in this sandbox/)
  assert.equal((await r('x + 1')).text, '[1] 21')
  assert.equal((await r("stop('no')")).error.value, 'no')
  assert.ok((await r('plot(1:3)')).results[0].png)
})

codeTest('a language that nobody knows', async (sandbox) => {
  const { error } = await sandbox.runCode('1', { language: 'cobol' })
  assert.match(error.value, /'cobol' is not a language that is known here \(there are python/)
  await assert.rejects(sandbox.createCodeContext({ language: 'cobol' }), /'cobol' is not a language that is known here/)
})

const READ = {
  python: { code: 'import os; os.getenv("NAME", "none")', read: (execution) => execution.text },
  javascript: { code: 'process.env.NAME ?? "none"', read: (execution) => execution.text },
  bash: { code: 'echo ${NAME-none}', read: (execution) => execution.logs.stdout[0].trim() },
}
for (const [language, { code, read }] of Object.entries(READ)) {
  codeTest(`environment of the sandbox and of one cell (${language})`, { envs: { NAME: 'sandbox' } }, async (sandbox) => {
    const value = async (envs) => read(await sandbox.runCode(code, { language, envs }))
    assert.equal(await value(), 'sandbox')
    assert.equal(await value({ NAME: "it's" }), "it's")
    assert.equal(await value(), 'sandbox')
  })
  codeTest(`environment of one cell alone (${language})`, async (sandbox) => {
    const value = async (envs) => read(await sandbox.runCode(code, { language, envs }))
    assert.equal(await value({ NAME: 'cell' }), 'cell')
    assert.equal(await value(), 'none')
  })
}

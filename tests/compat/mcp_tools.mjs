// Paddock's own tools as programs with the official SDK use them. callTool() holds structuredContent against the outputSchema.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { call, connect, isModern, textOf, until } from './mcp_support.mjs'

let client
before(async () => { client = await connect() })
after(() => client.close())

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

test('says what it is and how to use it', async () => {
  assert.match(client.getInstructions(), /run_code keeps state/)
  assert.equal(client.getServerVersion().name, 'paddock')
})

test('lists the tools', async () => {
  const { tools } = await client.listTools()
  const names = tools.map(tool => tool.name)
  for (const name of ['run_code', 'run_command', 'read_file', 'write_file', 'list_files', 'search_files', 'create_sandbox', 'list_sandboxes',
    'kill_sandbox', 'network_log', 'explain_denial']) assert.ok(names.includes(name), name)
})

test('runs code that keeps its state, with structured output', async () => {
  await call(client, 'run_code', { code: 'x = 41' })
  const result = await call(client, 'run_code', { code: 'x + 1' })
  assert.equal(result.structuredContent.results[0].text, '42')
  assert.match(textOf(result), /42/)
})

test('gives a plot as an image', async () => {
  const code = `import base64\nclass P:\n  def _repr_png_(self): return base64.b64decode('${PNG}')\nP()`
  const result = await call(client, 'run_code', { code })
  const image = result.content.find(item => item.type === 'image')
  assert.equal(image.mimeType, 'image/png')
  assert.equal(image.data, PNG)
})

test('tells an exception as an error of the tool', async () => {
  const result = await call(client, 'run_code', { code: '1 / 0' })
  assert.equal(result.isError, true)
  assert.match(textOf(result), /ZeroDivisionError/)
})

test('runs commands, writes and reads files', async () => {
  await call(client, 'write_file', { path: 'a/b.txt', content: 'hello\n' })
  const done = await call(client, 'run_command', { command: 'cat a/b.txt; exit 4' })
  assert.deepEqual([done.structuredContent.stdout, done.structuredContent.exit_code], ['hello\n', 4])
  assert.equal((await call(client, 'read_file', { path: 'a/b.txt' })).structuredContent.content, 'hello\n')
  assert.equal((await call(client, 'search_files', { pattern: 'hel+o', path: 'a' })).structuredContent.matches.length, 1)
  assert.equal((await call(client, 'list_files', { path: 'a' })).structuredContent.entries.length, 1)
  assert.ok((await call(client, 'list_sandboxes')).structuredContent.sandboxes.length >= 1)
})

test('tells progress', async () => {
  const told = []
  await call(client, 'run_command', { command: 'for i in 1 2 3 4; do echo $i; sleep 0.4; done' }, { onprogress: progress => told.push(progress) })
  assert.ok(told.length >= 1)
  assert.match(told.at(-1).message, /lines/)
})

test('a cancelled call is stopped inside', async () => {
  const running = async () => (await call(client, 'run_command', { command: "ls /proc | grep -E '^[0-9]+$' | while read p; do tr '\\0' ' ' < /proc/$p/cmdline; echo; done 2>/dev/null | grep -c '^sleep 27182' || true" }))
    .structuredContent.stdout.trim() !== '0'
  const abort = new AbortController()
  const waiting = call(client, 'run_command', { command: 'exec sleep 27182' }, { signal: abort.signal }).then(() => 'done', error => error)
  assert.ok(await until(running))
  abort.abort('enough')
  assert.notEqual(await waiting, 'done')
  assert.ok(await until(async () => !(await running())))
})

test('an unknown tool is an error of the protocol', async () => {
  await assert.rejects(call(client, 'Run_Code', { code: '1' }), /Unknown tool/)
})

test('arguments that do not fit are told in words', async () => {
  const result = await call(client, 'run_code', { code: 7 })
  assert.equal(result.isError, true)
  assert.match(textOf(result), /code/)
})

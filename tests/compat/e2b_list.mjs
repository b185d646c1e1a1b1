// Sandbox.list of the E2B SDK.
import { assert, test, Sandbox, unique } from './support.mjs'

async function withSandboxes(count, metadata, body) {
  const all = []
  try {
    for (let i = 0; i < count; i++) all.push(await Sandbox.create('base', { timeoutMs: 120_000, metadata }))
    await body(all)
  } finally {
    await Promise.all(all.map((sandbox) => sandbox.kill().catch(() => {})))
  }
}

async function everything(paginator) {
  const items = []
  while (paginator.hasNext) items.push(...(await paginator.nextItems()))
  return items
}

const ids = (items) => items.map((item) => item.sandboxId)

test('metadata, whatever stands in it', async () => {
  const metadata = { 'a b&c=d%': 'v/äöü +?#&=%20', id: unique('list') }
  await withSandboxes(1, metadata, async ([sandbox]) => {
    const found = await everything(Sandbox.list({ query: { metadata } }))
    assert.deepEqual(ids(found), [sandbox.sandboxId])
    assert.deepEqual(found[0].metadata, metadata)
    assert.deepEqual(await everything(Sandbox.list({ query: { metadata: { ...metadata, other: 'x' } } })), [])
  })
})

test('pages, in both orders', async () => {
  const metadata = { id: unique('pages') }
  await withSandboxes(5, metadata, async (all) => {
    const wanted = all.map((sandbox) => sandbox.sandboxId)
    const paginator = Sandbox.list({ limit: 2, query: { metadata }, order: 'asc' })
    const first = await paginator.nextItems()
    assert.deepEqual(ids(first), wanted.slice(0, 2))
    assert.equal(paginator.hasNext, true)
    assert.ok(paginator.nextToken)
    const fresh = Sandbox.list({ limit: 10, query: { metadata }, order: 'asc', nextToken: paginator.nextToken })
    assert.deepEqual(ids(await fresh.nextItems()), wanted.slice(2))
    assert.equal(fresh.hasNext, false)
    assert.deepEqual(ids(await everything(Sandbox.list({ limit: 2, query: { metadata } }))), wanted.slice().reverse())
  })
})

test('a page does not shift when a sandbox goes', async () => {
  const metadata = { id: unique('shift') }
  await withSandboxes(4, metadata, async (all) => {
    const paginator = Sandbox.list({ limit: 2, query: { metadata }, order: 'asc' })
    await paginator.nextItems()
    await all[1].kill()
    assert.deepEqual(ids(await paginator.nextItems()), [all[2].sandboxId, all[3].sandboxId])
  })
})

test('states', async () => {
  const metadata = { id: unique('states') }
  await withSandboxes(2, metadata, async ([runs, sleeps]) => {
    await sleeps.pause()
    assert.deepEqual(ids(await everything(Sandbox.list({ query: { metadata, state: ['running'] } }))), [runs.sandboxId])
    assert.deepEqual(ids(await everything(Sandbox.list({ query: { metadata, state: ['paused'] } }))), [sleeps.sandboxId])
    assert.equal((await everything(Sandbox.list({ query: { metadata } }))).length, 2)
  })
})

test('by start and by template', async () => {
  const metadata = { id: unique('start') }
  await withSandboxes(1, metadata, async ([sandbox]) => {
    const info = await sandbox.getInfo()
    const startedAfter = (date) => everything(Sandbox.list({ query: { metadata, startedAfter: date } }))
    assert.equal((await startedAfter(info.startedAt)).length, 1)
    assert.equal((await startedAfter(new Date(info.startedAt.getTime() + 1000))).length, 0)
    assert.equal((await everything(Sandbox.list({ query: { metadata, template: info.templateId } }))).length, 1)
    assert.equal((await everything(Sandbox.list({ query: { metadata, template: 'base' } }))).length, 1)
    assert.equal((await everything(Sandbox.list({ query: { metadata, template: 'unknown-template' } }))).length, 0)
  })
})

test('a limit that is none', async () => {
  await assert.rejects(Sandbox.list({ limit: 1000 }).nextItems())
})

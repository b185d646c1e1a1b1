// One client of either line of the official SDK, over stdio or HTTP, as the variables say:
//   MCP_MODULES  folder whose node_modules has the packages
//   MCP_SDK      v1: @modelcontextprotocol/sdk (legacy era); v2: @modelcontextprotocol/client (modern era); v2-legacy: the same, not negotiating
//   MCP_COMMAND  JSON list: the server as a child; or MCP_URL (with MCP_TOKEN)
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import path from 'node:path'

const require = createRequire(path.join(process.env.MCP_MODULES, 'package.json'))
const load = name => import(pathToFileURL(require.resolve(name)))
export const sdk = process.env.MCP_SDK
export const isModern = sdk === 'v2'

const { Client } = sdk === 'v1' ? await load('@modelcontextprotocol/sdk/client/index.js') : await load('@modelcontextprotocol/client')
const { StdioClientTransport } = await load(sdk === 'v1' ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio')
const { StreamableHTTPClientTransport } = await load(sdk === 'v1' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client')
const elicitation = sdk === 'v1' ? (await load('@modelcontextprotocol/sdk/types.js')).ElicitRequestSchema : 'elicitation/create'

function transport() {
  if (process.env.MCP_URL) {
    const headers = process.env.MCP_TOKEN ? { Authorization: `Bearer ${process.env.MCP_TOKEN}` } : {}
    return new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), { requestInit: { headers } })
  }
  const [command, ...args] = JSON.parse(process.env.MCP_COMMAND)
  return new StdioClientTransport({ command, args, env: { ...process.env }, stderr: 'inherit' })
}

// `elicit`: what the user answers when they are asked.
export async function connect({ elicit } = {}) {
  const options = { capabilities: elicit ? { elicitation: {} } : {} }
  if (isModern) options.versionNegotiation = { mode: { pin: '2026-07-28' } }
  const client = new Client({ name: 'paddock-test', version: '1' }, options)
  if (elicit) client.setRequestHandler(elicitation, elicit)
  await client.connect(transport())
  return client
}

export const call = (client, name, args = {}, options = {}) =>
  sdk === 'v1' ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options)

export const textOf = result => result.content.filter(item => item.type === 'text').map(item => item.text).join('\n')

export async function until(condition, seconds = 30) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await new Promise(done => setTimeout(done, 100))) if (await condition()) return true
  return false
}

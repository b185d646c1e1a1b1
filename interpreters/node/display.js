// What a value looks like in several formats, as the result event that clients know; and display() for the user's code.
'use strict'

const util = require('node:util')

const KEYS = {
  'text/plain': 'text', 'text/html': 'html', 'text/markdown': 'markdown', 'image/svg+xml': 'svg', 'image/png': 'png',
  'image/jpeg': 'jpeg', 'application/pdf': 'pdf', 'text/latex': 'latex', 'application/json': 'json',
  'application/javascript': 'javascript', 'e2b/data': 'data', 'e2b/chart': 'chart',
}
const SHORT = Object.fromEntries(Object.entries(KEYS).map(([kind, key]) => [key, kind]))
const JUPYTER = Symbol.for('Jupyter.display') // what libraries written for notebooks offer

function result(formats, isMain) {
  const event = { type: 'result', is_main_result: isMain }
  const extra = {}
  for (const [kind, given] of Object.entries(formats)) {
    const value = given instanceof Uint8Array ? Buffer.from(given).toString('base64') : given
    if (value === undefined || value === null) continue
    if (KEYS[kind]) event[KEYS[kind]] = kind === 'text/plain' ? withoutQuotes(value) : value
    else extra[kind] = value
  }
  if (Object.keys(extra).length > 0) event.extra = extra
  return event
}

function withoutQuotes(text) {
  return typeof text === 'string' && text.length > 1 && text[0] === text.at(-1) && `'"`.includes(text[0]) ? text.slice(1, -1) : text
}

function formats(value) {
  if (value && typeof value[JUPYTER] === 'function') {
    const said = value[JUPYTER]()
    if (said && typeof said === 'object') return said
  }
  const found = { 'text/plain': util.inspect(value) }
  if (value && typeof value._toHtml === 'function') found['text/html'] = String(value._toHtml())
  if (Array.isArray(value) || isPlain(value)) {
    try {
      const text = JSON.stringify(value)
      if (text !== undefined && text.length < 8 << 20) found['application/json'] = JSON.parse(text)
    } catch {
      // circular, or a bigint: the text must do
    }
  }
  return found
}

function isPlain(value) {
  if (value === null || typeof value !== 'object') return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

// display(value), display.html('<b>…'), display.png(buffer), display.mime({'text/html': …})
function install(show) {
  const display = (...values) => values.forEach((value) => show(formats(value), false))
  for (const [key, kind] of Object.entries(SHORT)) display[key] = (value) => show({ [kind]: value }, false)
  display.mime = (bundle) => show(bundle, false)
  Object.defineProperty(globalThis, 'display', { value: display, configurable: true, writable: true, enumerable: false })
}

module.exports = { result, formats, install }

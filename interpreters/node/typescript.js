// TypeScript made into javascript: by node itself where it can (22.13 and later), by the typescript package where one is
// installed, else by the small remover in types.js.
'use strict'

const nodeModule = require('node:module')
const { removeTypes } = require('./types.js')

function withoutTypes(code, require) {
  if (typeof nodeModule.stripTypeScriptTypes === 'function') return nodeModule.stripTypeScriptTypes(code, { mode: 'transform' })
  const compiler = find(require)
  if (compiler) return compiler.transpileModule(code, { compilerOptions: { target: 'esnext', module: 'esnext', verbatimModuleSyntax: true } }).outputText
  return removeTypes(code)
}

function find(require) {
  for (const name of ['typescript', '/usr/share/nodejs/typescript', '/usr/lib/node_modules/typescript', '/usr/local/lib/node_modules/typescript']) {
    try {
      return require(name)
    } catch {
      // not there
    }
  }
  return undefined
}

module.exports = { withoutTypes }

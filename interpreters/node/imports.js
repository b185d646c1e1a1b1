// Statements as a console can run them, again and again: `import {a} from 'b'` → `let {a} = await …('b')`, and const → let at the
// top, since V8 lets a let be declared anew, but not as another kind. Lines stay where they are.
'use strict'

const { tokens } = require('./tokens.js')

const NAMED = /import\s+(?:([\w$]+)\s*(?:,\s*|(?=\sfrom\b)))?(?:\*\s*as\s+([\w$]+)\s*|\{([^}]*)\}\s*)?\s*from\s*(["'])(.*?)\4(?:\s*(?:with|assert)\s*\{[^}]*\})?/y
const BARE = /import\s*(["'])(.*?)\1/y

function forConsole(code) {
  if (!/\b(import|export|const)\b/.test(code)) return code
  let made = ''
  let done = 0
  for (const { type, start, end, depth, fresh } of tokens(code)) {
    if (type !== 'word' || start < done) continue
    const word = code.slice(start, end)
    if (word === 'export' && depth === 0 && fresh) {
      made += code.slice(done, start)
      done = start + (/export\s+(default\s+)?/y.exec(code.slice(start))?.[0].length ?? 0)
    } else if (word === 'const' && depth === 0 && fresh) {
      made += code.slice(done, start) + 'let'
      done = end
    } else if (word === 'import') {
      const [text, length] = /^\s*\(/.test(code.slice(end)) ? ['__paddock_import', 6] : depth === 0 && fresh ? statement(code, start) : [null, 0]
      if (text === null) continue
      const kept = code.slice(start, start + length).split('\n').length - text.split('\n').length
      const ended = text === '__paddock_import' ? text : `${text};` // the next line may begin with a bracket
      made += code.slice(done, start) + ended + '\n'.repeat(Math.max(0, kept))
      done = start + length
    }
  }
  return made + code.slice(done)
}

function statement(code, start) {
  NAMED.lastIndex = BARE.lastIndex = start
  const named = NAMED.exec(code)
  if (named) {
    const [all, first, space, list, , from] = named
    const source = `await __paddock_import(${JSON.stringify(from)})`
    const names = (list ?? '').split(',').map((one) => one.trim()).filter((one) => one && !one.startsWith('type '))
      .map((one) => one.replace(/\s+as\s+/, ': '))
    if (first) names.unshift(`default: ${first}`)
    if (space) return [`let ${space} = ${source}${first ? `, ${first} = ${space}.default` : ''}`, all.length]
    return [`let { ${names.join(', ')} } = ${source}`, all.length]
  }
  const bare = BARE.exec(code)
  return bare ? [`await __paddock_import(${JSON.stringify(bare[2])})`, bare[0].length] : [null, 0]
}

module.exports = { forConsole }

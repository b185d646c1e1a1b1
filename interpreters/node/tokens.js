// Javascript cut into pieces, well enough to tell code from strings, comments, templates and regular expressions.
// Each: {type: 'word'|'number'|'text'|'regex'|'mark', start, end, depth, fresh}; `fresh`: it may begin a statement.
'use strict'

const WORD = /[\p{ID_Start}$_#@][\p{ID_Continue}$\u200c\u200d]*/uy
const NUMBER = /\d[\w.]*/y
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)+/y
const TEXT = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const MARK = /=>|\?\.(?!\d)|\.\.\.|\?\?=?|&&=?|\|\|=?|[=!]==?|<=|>>>?=?|<<=?|\+\+|--|\*\*=?|[-+*/%&|^]=|[^]/y
const BEFORE_VALUE = new Set(['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw', 'new', 'else', 'do', 'await', 'yield', 'instanceof'])

function match(pattern, code, at) {
  pattern.lastIndex = at
  const found = pattern.exec(code)
  return found ? found[0].length : 0
}

// The end of a template that begins at `at`, its ${…} with it.
function templateEnd(code, at) {
  for (at += 1; at < code.length; at += 1) {
    if (code[at] === '\\') at += 1
    else if (code[at] === '`') return at + 1
    else if (code[at] === '$' && code[at + 1] === '{') {
      let open = 1
      for (at += 2; at < code.length && open > 0; at += 1) {
        if (code[at] === '`') at = templateEnd(code, at) - 1
        else if (code[at] === '{') open += 1
        else if (code[at] === '}') open -= 1
      }
      at -= 1
    }
  }
  return code.length
}

function tokens(code) {
  const found = []
  let depth = 0
  let newline = true
  for (let at = 0; at < code.length;) {
    const space = match(SPACE, code, at)
    if (space) {
      newline ||= code.slice(at, at + space).includes('\n')
      at += space
      continue
    }
    const last = found.at(-1)
    const before = last ? code.slice(last.start, last.end) : ';'
    const wantsValue = !last || (last.type === 'mark' && !')]}'.includes(before)) || (last.type === 'word' && BEFORE_VALUE.has(before))
    let type = 'mark'
    let size = 0
    if ((size = match(WORD, code, at))) type = 'word'
    else if ((size = match(NUMBER, code, at))) type = 'number'
    else if ((size = match(TEXT, code, at))) type = 'text'
    else if (code[at] === '`') [type, size] = ['text', templateEnd(code, at) - at]
    else if (code[at] === '/' && wantsValue && (size = match(REGEX, code, at))) type = 'regex'
    else size = match(MARK, code, at)
    const mark = type === 'mark' ? code.slice(at, at + size) : ''
    if (')]}'.includes(mark) && mark) depth = Math.max(0, depth - 1)
    found.push({ type, start: at, end: at + size, depth, newline, fresh: before === ';' || before === '}' || before === '{' || newline })
    if ('([{'.includes(mark) && mark) depth += 1
    newline = false
    at += size
  }
  return found
}

module.exports = { tokens }

// Removes the types of TypeScript from a cell: annotations, interfaces, type aliases, generics, casts, modifiers; and makes
// objects of enums. What it takes out becomes blanks, so that lines and columns stay. Not for namespaces and decorators.
'use strict'

const { tokens } = require('./tokens.js')
const { typeEnd } = require('./type_expressions.js')

const MODIFIERS = new Set(['public', 'private', 'protected', 'readonly', 'abstract', 'override', 'declare'])
const NOT_METHODS = new Set(['if', 'for', 'while', 'switch', 'with', 'return', 'function', 'await', 'typeof', 'super', 'new', 'in', 'of', 'throw'])
const OPEN = { '(': ')', '[': ']', '{': '}' }

class Remover {
  constructor(code) {
    this.code = code
    this.list = tokens(code)
    this.text = this.list.map(({ start, end }) => code.slice(start, end))
    this.removed = [] // [start, end, instead]
    this.generic = new Set() // the `>` in front of parameters
    this.pairs = new Map() // of brackets, both ways
    const open = []
    this.text.forEach((text, at) => {
      if (this.list[at].type !== 'mark') return
      if (text in OPEN) open.push(at)
      else if (text === ')' || text === ']' || text === '}') {
        const from = open.pop()
        if (from !== undefined) this.pairs.set(from, at).set(at, from)
      }
    })
  }

  is(at, text) { return this.text[at] === text && this.list[at].type !== 'text' }
  word(at) { return this.list[at]?.type === 'word' }
  typeEnd(at) { return typeEnd(this, at) } // the first token behind a type that begins at `at`

  // Tokens from `from` up to, and not with, `to`.
  remove(from, to, instead = '') {
    if (to > from) this.removed.push([this.list[from].start, this.list[to - 1].end, instead])
  }

  result() {
    this.removed.sort((a, b) => a[0] - b[0] || b[1] - a[1])
    let made = ''
    let done = 0
    for (const [start, end, instead] of this.removed) {
      if (start < done) continue
      made += this.code.slice(done, start) + instead + this.code.slice(start, end).replace(/[^\n]/g, ' ').slice(instead.length)
      done = end
    }
    return made + this.code.slice(done)
  }

  run() {
    for (let at = 0; at < this.list.length; at += 1) at = this.statement(at) ?? at
    return this.result()
  }

  // What may stand at `at`. Gives the last token of what needs no further look.
  statement(at) {
    const { fresh, newline } = this.list[at]
    const text = this.text[at]
    if (this.word(at) && fresh) {
      if (text === 'interface' && this.word(at + 1)) return this.wholeBlock(at)
      if (text === 'declare' && this.word(at + 1) && !this.list[at + 1].newline) return this.wholeDeclaration(at)
      if (text === 'type' && this.word(at + 1) && (this.is(at + 2, '=') || this.is(at + 2, '<'))) return this.alias(at)
      if (text === 'enum' && this.word(at + 1)) return this.enumeration(at, at)
      if (text === 'const' && this.is(at + 1, 'enum')) return this.enumeration(at, at + 1)
      if (text === 'export' && ['interface', 'type', 'declare', 'enum', 'abstract'].includes(this.text[at + 1])) {
        this.remove(at, at + 1)
        this.list[at + 1].fresh = true
        return at
      }
      if (text === 'import' && this.is(at + 1, 'type') && (this.word(at + 2) || this.is(at + 2, '{'))) return this.importOfTypes(at)
      if (text === 'abstract' && this.is(at + 1, 'class')) this.remove(at, at + 1)
    }
    if (this.word(at)) {
      if (text === 'let' || text === 'const' || text === 'var') this.variables(at + 1)
      else if (text === 'class') this.classHead(at)
      else if ((text === 'as' || text === 'satisfies') && this.isValue(at - 1) && !newline && !this.inImport(at)) return this.cast(at)
      else this.typeArguments(at)
    }
    if (this.is(at, '(')) this.parentheses(at)
    if (this.is(at, '<') && !this.isValue(at - 1)) { // <T>(a: T) => …
      const end = this.argumentsEnd(at)
      if (end > 0 && this.is(end, '(')) this.remove(at, end)
    }
    if (this.is(at, '!') && this.isValue(at - 1) && this.list[at - 1].end === this.list[at].start && !newline) this.remove(at, at + 1)
    return undefined
  }

  isValue(at) {
    const token = this.list[at]
    if (!token) return false
    if (token.type !== 'mark') return token.type !== 'word' || !NOT_METHODS.has(this.text[at])
    return [')', ']', '}'].includes(this.text[at])
  }

  inImport(at) {
    for (let back = at; back >= 0 && back > at - 60; back -= 1) {
      if (this.word(back) && ['import', 'export'].includes(this.text[back])) return true
      if (this.is(back, ';') || this.is(back, ')') || this.is(back, '=')) return false
    }
    return false
  }

  wholeBlock(at) {
    let end = at
    while (end < this.list.length && !this.is(end, '{')) end += 1
    end = this.pairs.get(end) ?? end
    this.remove(at, end + 1)
    return end
  }

  wholeDeclaration(at) {
    let end = at + 1
    while (end < this.list.length && !this.is(end, '{') && !this.is(end, ';') && !(this.list[end].newline && end > at + 1)) end += 1
    if (this.is(end, '{')) end = (this.pairs.get(end) ?? end) + 1
    this.remove(at, Math.min(end, this.list.length))
    return end - 1
  }

  alias(at) {
    let from = at + 2
    if (this.is(from, '<')) from = this.argumentsEnd(from)
    const end = this.typeEnd(from + 1)
    this.remove(at, this.is(end, ';') ? end + 1 : end)
    return end - 1
  }

  importOfTypes(at) {
    let end = at
    while (end < this.list.length && this.list[end].type !== 'text') end += 1
    this.remove(at, Math.min(end + 1, this.list.length))
    return end
  }

  enumeration(from, at) {
    const name = this.text[at + 1]
    const open = at + 2
    const close = this.pairs.get(open)
    if (!this.is(open, '{') || close === undefined) return undefined
    const members = []
    let next = 0
    for (let one = open + 1; one < close;) {
      let end = one
      for (; end < close && !this.is(end, ','); end += 1) end = this.pairs.get(end) > end ? this.pairs.get(end) : end
      const key = JSON.stringify(this.text[one].replace(/^['"]|['"]$/g, ''))
      const given = this.is(one + 1, '=') ? this.code.slice(this.list[one + 2].start, this.list[end - 1].end) : String(next)
      members.push(/^\s*['"`]/.test(given) ? `[${key}]: ${given}` : `[${key}]: ${given}, [${given}]: ${key}`)
      next = Number.isFinite(Number(given)) ? Number(given) + 1 : next + 1
      one = end + 1
    }
    this.remove(from, close + 1, `const ${name} = { ${members.join(', ')} };`)
    return close
  }

  cast(at) {
    const end = this.typeEnd(at + 1)
    this.remove(at, end)
    return end - 1
  }

  // `name: Type`, `{a, b}: Type`, `name!: Type`, and what follows a comma.
  variables(at) {
    let end = this.binding(at)
    for (let depth = this.list[at]?.depth; end < this.list.length && this.list[end].depth >= depth; end += 1) {
      if (this.list[end].depth > depth) continue
      if (this.is(end, ',')) end = this.binding(end + 1) - 1
      else if (this.is(end, ';') || (this.word(end) && ['of', 'in', 'let', 'const', 'var'].includes(this.text[end]))) return
      else if (this.list[end].newline && this.isValue(end - 1) && this.list[end].type !== 'mark') return
    }
  }

  // Removes the annotation of a binding; gives the token behind.
  binding(at) {
    let next = this.is(at, '...') ? at + 1 : at
    while (this.word(next) && MODIFIERS.has(this.text[next]) && (this.word(next + 1) || this.is(next + 1, '{'))) {
      this.remove(next, next + 1)
      next += 1
    }
    next = (this.is(next, '{') || this.is(next, '[') ? this.pairs.get(next) ?? next : next) + 1
    if ((this.is(next, '?') || this.is(next, '!')) && (this.is(next + 1, ':') || this.is(next + 1, ',') || this.is(next + 1, ')') || this.is(next + 1, '='))) {
      this.remove(next, next + 1)
      next += 1
    }
    if (!this.is(next, ':')) return next
    const end = this.typeEnd(next + 1)
    this.remove(next, end)
    return end
  }

  // A list of parameters, or only an expression?
  parentheses(at) {
    const close = this.pairs.get(at)
    if (close === undefined) return
    const named = this.word(at - 1) && !NOT_METHODS.has(this.text[at - 1])
    const isFunction = this.is(at - 1, 'function') || this.is(at - 1, '*') || (this.word(at - 1) && (this.is(at - 2, 'function') || this.is(at - 2, '*'))) ||
      (this.is(at - 1, '>') && this.generic.has(at - 1))
    let behind = close + 1
    let returns = false
    if (this.is(behind, ':')) {
      behind = this.typeEnd(close + 2)
      returns = behind > close + 2
    }
    const isArrow = this.is(behind, '=>')
    const isMethod = (named || this.is(at - 1, ']') || this.list[at - 1]?.type === 'text') && this.is(behind, '{') && !this.list[behind].newline
    if (this.is(at - 1, 'catch')) {
      this.binding(at + 1)
      return
    }
    if (!isFunction && !isArrow && !isMethod) return
    const own = this.parameters(at, close)
    if (returns) this.remove(close + 1, behind)
    if (this.is(at - 1, 'constructor') && own.length > 0 && this.is(behind, '{')) {
      const place = this.list[this.afterSuper(behind)].end
      this.removed.push([place, place, `; ${own.map((name) => `this.${name} = ${name};`).join(' ')}`])
    }
    // `function f(a: string): void` without a body only declares.
    if (isFunction && !this.is(behind, '{') && this.is(at - 2, 'function')) this.remove(at - 2, this.is(behind, ';') ? behind + 1 : behind)
  }

  // The last token before a constructor's own work begins.
  afterSuper(open) {
    const close = this.pairs.get(open) ?? open
    for (let at = open + 1; at < close; at += 1) {
      if (this.is(at, 'super') && this.is(at + 1, '(')) return this.pairs.get(at + 1) ?? open
    }
    return open
  }

  parameters(open, close) {
    const own = []
    for (let at = open + 1; at < close;) {
      if (this.word(at) && MODIFIERS.has(this.text[at]) && this.word(at + 1)) {
        let name = at
        while (MODIFIERS.has(this.text[name]) && this.word(name + 1)) name += 1
        own.push(this.text[name])
      }
      const begin = at
      if (this.is(at, 'this') && this.is(at + 1, ':')) { // only a type
        const end = this.typeEnd(at + 2)
        this.remove(at, this.is(end, ',') ? end + 1 : end)
        at = this.is(end, ',') ? end + 1 : end
        continue
      }
      at = Math.max(this.binding(at), begin + 1)
      for (; at < close && !this.is(at, ','); at += 1) at = this.pairs.get(at) > at ? this.pairs.get(at) : at
      at += 1
    }
    return own
  }

  argumentsEnd(at) {
    let depth = 0
    for (let end = at; end < this.list.length; end += 1) {
      const text = this.text[end]
      if (this.list[end].type === 'mark' && text in OPEN) end = this.pairs.get(end) ?? end
      else if (text === '<') depth += 1
      else if (/^>+$/.test(text)) depth -= text.length
      else if ([';', ')', ']', '}', '&&', '||'].includes(text) && this.list[end].type === 'mark') return -1
      if (depth <= 0) return depth === 0 ? end + 1 : -1
    }
    return -1
  }

  // f<T>(…), new Map<K, V>(), function f<T>(…)
  typeArguments(at) {
    if (!this.is(at + 1, '<')) return
    const end = this.argumentsEnd(at + 1)
    if (end < 0 || !(this.is(end, '(') || (this.list[end]?.type === 'text' && this.text[end][0] === '`'))) return
    this.remove(at + 1, end)
    if (this.is(at - 1, 'function') || this.is(at, 'function')) this.generic.add(end - 1)
  }

  classHead(at) {
    let open = at + 1
    while (open < this.list.length && !this.is(open, '{')) {
      if (this.is(open, '<')) {
        const end = this.argumentsEnd(open)
        if (end < 0) return
        this.remove(open, end)
        open = end
      } else if (this.is(open, 'implements')) {
        let end = open
        while (end < this.list.length && !this.is(end, '{')) end += 1
        this.remove(open, end)
        open = end
      } else {
        open += 1
      }
    }
    const close = this.pairs.get(open)
    if (close !== undefined) this.members(open, close)
  }

  members(open, close) {
    for (let at = open + 1; at < close;) {
      const begin = at
      let isAbstract = false
      while (this.word(at) && (MODIFIERS.has(this.text[at]) || ['static', 'async', 'get', 'set', 'accessor'].includes(this.text[at])) &&
             !this.is(at + 1, '(') && !this.is(at + 1, '=') && !this.is(at + 1, ':') && !this.is(at + 1, ';')) {
        isAbstract ||= this.is(at, 'abstract') || this.is(at, 'declare')
        if (MODIFIERS.has(this.text[at])) this.remove(at, at + 1)
        at += 1
      }
      if (this.is(at, '*')) at += 1
      const indexed = this.is(at, '[') && this.word(at + 1) && this.is(at + 2, ':')
      at = (this.is(at, '[') ? this.pairs.get(at) ?? at : at) + 1
      if (this.is(at, '?') || this.is(at, '!')) {
        this.remove(at, at + 1)
        at += 1
      }
      if (this.is(at, '<')) {
        const end = this.argumentsEnd(at)
        if (end > 0) this.remove(at, end)
        if (end > 0) this.generic.add(end - 1)
        at = end > 0 ? end : at + 1
      }
      if (this.is(at, '(')) {
        let end = (this.pairs.get(at) ?? at) + 1
        if (this.is(end, ':')) end = this.typeEnd(end + 1)
        if (this.is(end, '{')) {
          at = (this.pairs.get(end) ?? end) + 1
        } else { // only a signature
          this.remove(begin, this.is(end, ';') ? end + 1 : end)
          at = end
        }
      } else {
        if (this.is(at, ':')) {
          const end = this.typeEnd(at + 1)
          if (isAbstract || indexed) this.remove(begin, end)
          else this.remove(at, end)
          at = end
        }
        const depth = this.list[open + 1]?.depth
        while (at < close && !this.is(at, ';') && !(this.list[at].newline && this.list[at].depth === depth && this.isValue(at - 1))) at = (this.pairs.get(at) > at ? this.pairs.get(at) : at) + 1
      }
      if (this.is(at, ';')) at += 1
      if (at <= begin) at = begin + 1
    }
  }
}

function removeTypes(code) {
  return new Remover(code).run()
}

module.exports = { removeTypes }

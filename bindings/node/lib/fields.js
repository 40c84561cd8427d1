'use strict'

const given = require('./arguments')
const { Decision } = require('./decision')
const { told } = require('./errors')
const { Limiter } = require('./limiter')
const { native } = require('./native')

const LABEL = {
  name: given.text,
  unit: given.text,
  partition: (value, name) => {
    if (value instanceof Uint8Array) return value
    throw given.wrongType(name, value, 'Buffer or Uint8Array')
  }
}

/** The names of styles, of one or of several. */
function styleNames(styles) {
  if (typeof styles === 'string') return [styles]
  if (!Array.isArray(styles)) throw given.wrongType('styles', styles, 'string or array of strings')
  return styles.map((style) => given.text(style, 'style'))
}

const nowUnixNs = () => BigInt(Date.now()) * 1_000_000n

const pairs = (flat) =>
  Array.from({ length: flat.length / 2 }, (_, number) => [flat[2 * number], flat[2 * number + 1]])

/** Writes the fields of the decisions of limiters that are added once. */
class Writer {
  constructor(styles) {
    this._native = told(() => new native.Fields(styleNames(styles)))
  }

  add(limiter, label) {
    const { name, unit, partition } = given.options(label, LABEL, 'parts of a label')
    if (!(limiter instanceof Limiter)) throw given.wrongType('limiter', limiter, 'Limiter')
    told(() => this._native.add(limiter._native, name, unit, partition))
  }

  /** Adds layers, each [text, limit, period in ns or 0, capacity], in place of a limiter. */
  addLayers(layers, { name, unit, partition } = {}) {
    const numbers = BigUint64Array.from(layers.flatMap((layer) => layer.slice(1)).map(BigInt))
    told(() => this._native.addLayers(layers.map(([text]) => text), numbers, name, unit, partition))
  }

  /** The fields, each a name and its value, of decisions; `which` are the numbers of their limiters. */
  write(decisions, which, now = nowUnixNs()) {
    const numbers = BigUint64Array.from(decisions.flatMap((decision) => decision._numbers()))
    return pairs(told(() => this._native.write(Uint32Array.from(which), numbers, now)))
  }
}

/** The HTTP fields of one answer or several; index.d.ts describes them. */
function fields(answers, styles = 'draft11', options = undefined) {
  const { nowUnixNs: now } = given.options(options, { nowUnixNs: given.nanoseconds })
  const writer = new Writer(styles)
  const several = Array.isArray(answers) ? answers : [answers]
  for (const answer of several) {
    if (!(answer?.decision instanceof Decision)) {
      throw given.wrongType('decision', answer?.decision, 'Decision, in each answer')
    }
    writer.add(answer.limiter, answer.label)
  }
  return writer.write(several.map(({ decision }) => decision), several.keys(), now)
}

module.exports = { Writer, fields, nowUnixNs, pairs, styleNames }

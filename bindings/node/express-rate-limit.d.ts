export interface StoreOptions {
  /** A file of its own, in which all processes that open it count together. */
  path?: string | URL
  /** Keys that have room at once, 100,000 by default. */
  maxKeys?: number
  whenFull?: 'evict' | 'share' | 'deny' | 'allow'
  /** Stands before each key. */
  prefix?: string
}

/** A store for express-rate-limit: its windows, in memory of a fixed size or in a file. */
export class RatecellStore {
  constructor(options?: StoreOptions)
  readonly prefix: string
  readonly localKeys: boolean
  init(options: { windowMs: number }): void
  get(key: string): { totalHits: number; resetTime: Date } | undefined
  increment(key: string): { totalHits: number; resetTime: Date }
  decrement(key: string): void
  resetKey(key: string): void
}
export default RatecellStore

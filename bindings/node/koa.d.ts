import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counts, GateOptions, Limits } from './index.js'

/** What the middleware needs of Koa's context; the decision is in `state.ratecell`. */
export interface Context {
  req: IncomingMessage
  res: ServerResponse
  state: Record<string, unknown>
}

/** A middleware for Koa. What is wrong with limits, keys and options is thrown here. */
export function rateLimit<C extends Context = any>(
  limits: Limits<C>,
  options?: GateOptions<C>
): ((context: C, next: () => Promise<unknown>) => Promise<unknown>) & { readonly counts: Counts }

import type { IncomingMessage } from 'node:http'
import type { Counts, GateOptions, Limits } from './index.js'

interface Raw {
  raw: IncomingMessage
}

declare function plugin(instance: any, options: GateOptions<any> & { limits: Limits<any> }): Promise<void>

declare namespace plugin {
  /** An onRequest hook of one route. What is wrong with limits, keys and options is thrown here. */
  export function rateLimit<Request extends Raw = any>(
    limits: Limits<Request>,
    options?: GateOptions<Request>
  ): ((request: Request, reply: any) => Promise<void>) & { readonly counts: Counts }
  export { plugin, plugin as default }
}

/** A plugin for Fastify: it limits all routes that are registered after it. */
export = plugin

// The same of a CommonJS module.
import { Limiter } from 'ratecell'
import plugin = require('ratecell/fastify')
import express = require('ratecell/express')

const limiter: Limiter = new Limiter('10/s')
express.rateLimit(limiter)
plugin.rateLimit(limiter)
console.log(limiter.check('k').allowed)

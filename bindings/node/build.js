'use strict'

// Puts the library that cargo has built where the package loads it: `npm run build`.

const { execFileSync } = require('node:child_process')
const { copyFileSync, mkdirSync } = require('node:fs')
const { join } = require('node:path')

const metadata = execFileSync('cargo', ['metadata', '--format-version', '1', '--no-deps'], { cwd: __dirname })
const folder = join(JSON.parse(metadata).target_directory, 'release')
const prefix = process.platform === 'win32' ? '' : 'lib'
const suffix = { darwin: 'dylib', win32: 'dll' }[process.platform] ?? 'so'
const { platform } = require('./lib/platform')
mkdirSync(join(__dirname, 'prebuilt'), { recursive: true })
copyFileSync(join(folder, `${prefix}ratecell_node.${suffix}`), join(__dirname, 'prebuilt', `${platform()}.node`))

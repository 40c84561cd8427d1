'use strict'

/** The name of this platform, as the files in `prebuilt` have it. */
function platform() {
  const { platform: system, arch } = process
  if (system !== 'linux') return `${system}-${arch}`
  // A Node that is linked to glibc says with which it runs.
  const { glibcVersionRuntime } = process.report.getReport().header
  return `linux-${arch}-${glibcVersionRuntime ? 'gnu' : 'musl'}`
}

module.exports = { platform }

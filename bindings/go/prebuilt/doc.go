// Package prebuilt has the C library for each platform in its folders, in a released version of the module, and their digests
// in SHA256SUMS: its test compares them. In a clone there are none.
package prebuilt

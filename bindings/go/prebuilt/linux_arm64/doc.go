// Package linux_arm64 holds the C library for a platform in a released version of the module, beside this file.
package linux_arm64

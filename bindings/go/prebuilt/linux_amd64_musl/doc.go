// Package linux_amd64_musl holds the C library for a platform in a released version of the module, beside this file.
package linux_amd64_musl

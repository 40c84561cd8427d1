# The two commands of the README, and the pieces of the second.

.PHONY: demo test lint loom bench install uninstall go nginx nginx-demo nginx-install

# Replays an access log: `make demo LOG=/var/log/nginx/access.log`, or a made-up one.
demo:
	ci/setup.sh
	ci/demo.sh $(LOG)

# Every check there is.
test:
	ci/all.sh

lint:
	ci/lint.sh

loom:
	ci/loom.sh

# Beside its peers: brings docs/BENCHMARKS.md up to date, in under 15 minutes. `make bench ARGS=--quick` prints.
bench:
	benches/run.sh $(ARGS)

# The C library, put where the Go binding of this folder finds it.
go:
	ci/go.sh --library

# The C library: PREFIX, LIBDIR, INCLUDEDIR and DESTDIR as usual.
install:
	ci/install.sh

uninstall:
	ci/install.sh --remove

# The module for the nginx that is installed; needs Debian's nginx and nginx-dev.
nginx:
	ci/nginx.sh --build

# An example configuration on loopback, and requests to it.
nginx-demo:
	ci/nginx-demo.sh

# Into the modules' folder of the nginx that is installed: DESTDIR as usual.
nginx-install:
	ci/nginx.sh --install

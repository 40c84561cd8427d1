# The two commands of the README, demo and test, and their pieces.

.PHONY: help demo test site lint loom bench bench-store lib install uninstall deb release go nginx nginx-demo nginx-install many-machines example

help:
	@sed -n 's/^## //p' Makefile

## make demo [LOG=FILE]   replays an access log, such as /var/log/nginx/access.log, or a made-up one
demo:
	ci/setup.sh
	ci/demo.sh $(LOG)

## make test              every check there is
test:
	ci/all.sh

## make site              the playground and the documents, as pages that need no network: target/site/index.html
site:
	ci/setup.sh --tools
	ci/site.sh --build

## make many-machines     four machines that share a limit through a real server, which is killed; DEPTH=long: a minute
many-machines:
	ci/setup.sh --tools
	ci/many-machines.sh

## make lint              format, lints and documentation
lint:
	ci/lint.sh

## make loom              the models under loom and shuttle
loom:
	ci/loom.sh

## make bench             beside its peers: brings docs/BENCHMARKS.md up to date, in under 15 minutes; ARGS=--quick prints
bench:
	benches/run.sh $(ARGS)

## make bench-store       many machines on one limit, beside a script at a real store, in about three minutes: prints
bench-store:
	benches/store.sh

## make go                the C library, put where the Go binding of this folder finds it
go:
	ci/go.sh --library

## make lib               the C library, built for `make install`
lib:
	ci/install.sh --build

## make install           the C library and its headers: PREFIX (/usr/local), LIBDIR, INCLUDEDIR and DESTDIR as usual
install:
	ci/install.sh

## make uninstall         what `make install` put there
uninstall:
	ci/install.sh --remove

## make deb               Debian's packages of the library, its headers, the program and nginx's module: OUT=FOLDER
deb: OUT ?= target/packages
deb:
	ci/deb.sh $(OUT)

## make release           all that a release gives to users, with sums and bills of materials: OUT=FOLDER, DEPTH=long
release: OUT ?= target/release-packages
release:
	ci/setup.sh --tools
	ci/release.sh $(OUT)

## make nginx             the module for the nginx that is installed; needs Debian's nginx and nginx-dev
nginx:
	ci/nginx.sh --build

## make nginx-demo        an example configuration on loopback, and requests to it
nginx-demo:
	ci/nginx-demo.sh

## make example           nginx, a service in Go and one in Python under one limit, and visitors to them; ARGS=--stay: leaves them running
example:
	ci/setup.sh --tools
	ci/example.sh $(ARGS)

## make nginx-install     into the modules' folder of the nginx that is installed: DESTDIR as usual
nginx-install:
	ci/nginx.sh --install

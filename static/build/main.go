// Command build builds static/dist from static/src: scripts and styles bundled by
// esbuild, an icon sprite, the licenses of bundled packages, and a manifest of
// hashed names. With -watch it rebuilds on every change, generates the views too,
// and restarts Sluice. With -test it runs the scripts' unit tests in Node.
//
// It is a module of its own, so that esbuild is not a dependency of Sluice. It
// needs the packages that `npm ci` installs in static; Sluice itself needs only
// dist.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	watching := flag.Bool("watch", false, "rebuild on every change, and run Sluice with the arguments that follow")
	testing := flag.Bool("test", false, "run src/**/*.test.ts with node --test; arguments are passed on")
	root := flag.String("root", "..", "the static directory")
	repository := flag.String("repository", "../..", "the repository, for the licenses of the program")
	flag.Parse()
	do := func() error { return build(*root, *repository) }
	if *watching {
		do = func() error { return watch(*root, flag.Args()) }
	}
	if *testing {
		do = func() error { return test(*root, flag.Args()) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

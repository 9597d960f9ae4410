// Command build makes static/dist from static/src: scripts and styles bundled
// by esbuild, one sprite of icons, the licences of what was bundled, and a
// manifest of hashed names. With -watch it keeps doing so, makes views anew
// too, and restarts Sluice after each change.
//
// It owns how assets are made and knows nothing of Sluice but its folders.
// It needs what `npm ci` in static fetches; Sluice itself needs only dist.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	watching := flag.Bool("watch", false, "build at each change, and run Sluice with the arguments that follow")
	root := flag.String("root", "..", "the folder static")
	flag.Parse()
	do := func() error { return build(*root) }
	if *watching {
		do = func() error { return watch(*root, flag.Args()) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

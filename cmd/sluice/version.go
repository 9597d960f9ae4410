package main

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
)

// release is set at build time with -ldflags "-X main.release=1.2.3".
var release = ""

// version is the release, or the revision it was built from.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "dev-" + s.Value[:12]
			}
		}
	}
	return "dev"
}

type versionCmd struct{}

// Run prints the version and what it was built for.
func (versionCmd) Run(s *streams) error {
	_, err := fmt.Fprintf(s.out, "sluice %s %s\n", version(), platform())
	return err
}

func isDefaultDataDir(dir string) bool {
	standard, err := filepath.Abs("./data")
	return err == nil && dir == standard
}

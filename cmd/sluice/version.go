package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// release and revision are set at build time if Go's own stamp is missing or incomplete, such
// as in a container image:
//
//	-ldflags "-X main.release=1.2.3 -X main.revision=$(git rev-parse HEAD)"
var release, revision string

// unversioned is the version of a build that has neither a release nor a stamp
// of version control. "go run" makes such builds.
const unversioned = "dev"

// build describes the running program.
type build struct {
	// Version is a semantic version without "v": the release, or the pseudo-version
	// that Go derives from the last tag and the commit. It ends in "+dirty" when
	// files were changed after the commit. A build without either is "dev".
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // commit it was built from
	Time     string `json:"time,omitempty"`     // of that commit, RFC 3339
	Modified bool   `json:"modified"`           // files were changed after that commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // operating system and architecture, as linux/amd64
}

// thisBuild describes the running program.
var thisBuild = sync.OnceValue(func() build {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(release, revision, info)
})

// describeBuild combines the values set at build time with Go's stamp, which may be nil. The
// set values take precedence: a container image is built without the git history that the
// stamp needs.
func describeBuild(release, revision string, info *debug.BuildInfo) build {
	b := build{Revision: revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	stamped := ""
	if info != nil {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = cmp.Or(b.Revision, s.Value)
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if info.Main.Version != "(devel)" {
			stamped = info.Main.Version
		}
	}
	b.Version = strings.TrimPrefix(cmp.Or(release, stamped, unversioned), "v")
	if b.Version == unversioned && b.Revision != "" {
		b.Version += "-" + b.Revision[:min(len(b.Revision), 12)]
	}
	return b
}

// version returns the version that the log, outbound requests, the dashboard and the API
// show.
func version() string { return thisBuild().Version }

// versionCmd prints the version.
type versionCmd struct {
	JSON bool `help:"Print as JSON, with the commit and whether files were modified."`
}

// Run prints the version, the platform and, as JSON, the commit.
func (c versionCmd) Run(_ context.Context, _ *Config, s *streams) error {
	if c.JSON {
		return printJSON(s.Out, thisBuild())
	}
	_, err := fmt.Fprintf(s.Out, "sluice %s %s\n", version(), platform())
	return err
}

// isDefaultDataDir reports whether dir is ./data, the default of SLUICE_DATA_DIR.
func isDefaultDataDir(dir string) bool {
	standard, err := filepath.Abs("./data")
	return err == nil && dir == standard
}

package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	const commit = "372a8500c0ffee00c0ffee00c0ffee00c0ffee00"
	stamp := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-11-22T19:40:00Z"}, {Key: "vcs.modified", Value: "false"}}
	for name, test := range map[string]struct {
		release, revision string
		info              *debug.BuildInfo
		want              build
	}{
		"a tagged commit": {info: stamp("v1.2.3", vcs...), want: build{Version: "1.2.3", Revision: commit, Time: "2026-11-22T19:40:00Z"}},
		"a commit after a tag": {info: stamp("v1.2.4-0.20261122194000-372a8500c0ff", vcs...),
			want: build{Version: "1.2.4-0.20261122194000-372a8500c0ff", Revision: commit, Time: "2026-11-22T19:40:00Z"}},
		"changed files": {info: stamp("v1.2.4-0.20261122194000-372a8500c0ff+dirty", vcs[0], vcs[1], debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
			want: build{Version: "1.2.4-0.20261122194000-372a8500c0ff+dirty", Revision: commit, Time: "2026-11-22T19:40:00Z", Modified: true}},
		"a release that was set":         {release: "v2.0.0-rc.1", info: stamp("v1.2.3", vcs...), want: build{Version: "2.0.0-rc.1", Revision: commit, Time: "2026-11-22T19:40:00Z"}},
		"an image, without its checkout": {release: "2.0.0", revision: commit, info: stamp("(devel)"), want: build{Version: "2.0.0", Revision: commit}},
		"a revision alone":               {revision: commit, info: stamp("(devel)"), want: build{Version: "dev-372a8500c0ff", Revision: commit}},
		"go run":                         {info: stamp("(devel)"), want: build{Version: "dev"}},
		"no stamp at all":                {want: build{Version: "dev"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.want.Go, test.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			if b := describeBuild(test.release, test.revision, test.info); b != test.want {
				t.Errorf("got  %+v\nwant %+v", b, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	t.Run("prints one line", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		if code := run([]string{"version"}, nil, &out, &errs); code != exitOK || out.String() != "sluice "+version()+" "+platform()+"\n" {
			t.Errorf("exit %d: %s%s", code, &out, &errs)
		}
	})
	t.Run("prints JSON", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		code := run([]string{"version", "--json"}, nil, &out, &errs)
		var b build
		if err := json.Unmarshal(out.Bytes(), &b); code != exitOK || err != nil || b != thisBuild() {
			t.Errorf("exit %d, %v: %s%s", code, err, &out, &errs)
		}
	})
}

func TestLicensesCmd_prints_what_the_program_contains(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run([]string{"licenses"}, nil, &out, &errs); code != exitOK || !strings.HasPrefix(out.String(), "Sluice\n\nMIT License") || !strings.Contains(out.String(), "GNU LESSER GENERAL PUBLIC LICENSE") {
		t.Errorf("exit %d: %.200s%s", code, &out, &errs)
	}
}

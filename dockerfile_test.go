package sluice_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pinnedImage = regexp.MustCompile(`^[a-z0-9./-]+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}$`)

// TestDockerfile checks that every base image is pinned by digest, and that each
// image that is published is labeled with what it was built from.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	bases, published := 0, map[string]string{} // stage to its instructions
	stage := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 4 && words[0] == "FROM" && words[2] == "AS" {
			stage = words[3]
			if !slices.Contains(stages, words[1]) {
				bases++
				if !pinnedImage.MatchString(words[1]) {
					t.Errorf("%s is not pinned as name:tag@sha256:…", words[1])
				}
			}
			stages = append(stages, stage)
		} else if len(words) > 0 && words[0] == "FROM" {
			t.Errorf("a stage has no name: %s", line)
		}
		published[stage] += line
	}
	if bases == 0 {
		t.Error("no base image was found")
	}
	for _, name := range []string{"sluice", "fly"} {
		for _, label := range []string{"version", "revision", "created", "source", "licenses"} {
			if !strings.Contains(published[name], "org.opencontainers.image."+label+"=") {
				t.Errorf("image %s has no label %s", name, label)
			}
		}
	}
	if !strings.Contains(published["build"], "-X main.release=${VERSION} -X main.revision=${REVISION}") {
		t.Error("the program in the image is not told its version")
	}
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// test bundles each src/**/*.test.ts for Node into a temporary directory and
// runs them with `node --test`. Such a test can only import modules that work
// without a browser. The working directory is the repository root, so tests read
// test data relative to it.
func test(root string, args []string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	sources, err := testFiles(filepath.Join(root, "src"))
	if err != nil || len(sources) == 0 {
		return errors.Join(err, errors.New("no tests found"))
	}
	dir, err := os.MkdirTemp("", "sluice-scripts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPoints:   sources,
		Outdir:        dir,
		Outbase:       filepath.Join(root, "src"),
		OutExtension:  map[string]string{".js": ".mjs"},
		Bundle:        true,
		Platform:      api.PlatformNode,
		Format:        api.FormatESModule,
		Target:        api.ES2023,
		Sourcemap:     api.SourceMapInline,
		Write:         true,
		LogLevel:      api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors; did `npm ci` run in static?", len(result.Errors))
	}
	arguments := append([]string{"--enable-source-maps", "--test"}, args...)
	for _, f := range result.OutputFiles {
		arguments = append(arguments, f.Path)
	}
	node := exec.Command("node", arguments...)
	node.Dir, node.Stdout, node.Stderr = filepath.Dir(root), os.Stdout, os.Stderr
	return node.Run()
}

// testFiles returns the paths of all unit tests below dir.
func testFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".test.ts") {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// The command generate finishes the templates that templ has generated: it keeps the
// compiler from inlining them.
//
// A template is a function that only returns a closure, the code that writes the HTML. Such a
// function is cheap enough to inline, and with it the compiler copies the closure to each
// place that uses the template. That doubled the machine code of the builder's pages and the
// time to compile them.
package main

import (
	"bytes"
	"go/format"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// template matches the first line of a generated template, and the directive if it is there.
var template = regexp.MustCompile(`(?m)^(?://go:noinline\n)?(func .*\) templ\.Component \{)$`)

func main() {
	log.SetFlags(0)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_templ.go") {
			return err
		}
		return finish(path)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// finish forbids inlining the templates in a file.
func finish(path string) error {
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	finished, err := format.Source(template.ReplaceAll(code, []byte("//go:noinline\n$1")))
	if err != nil || bytes.Equal(finished, code) {
		return err
	}
	return os.WriteFile(path, finished, 0o644)
}

// Command generate packs the pages of the documentation for the program, which has them compressed: as Markdown they
// would be more than half a megabyte of it. Run it in docs after a change of a page.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/andybalholm/brotli"
)

// generated is the page that the server makes itself.
const generated = "api.md"

func main() {
	if err := pack("packed"); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// pack writes each page of the working directory to a directory, and removes what is not a page any more.
func pack(to string) error {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, page := range pages {
		if page != generated {
			keep[page+".br"] = true
			err = errors.Join(err, packPage(page, filepath.Join(to, page+".br")))
		}
	}
	files, listErr := os.ReadDir(to)
	for _, f := range files {
		if !keep[f.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(to, f.Name())))
		}
	}
	return errors.Join(err, listErr)
}

// packPage compresses a page. A file that has its content already stays as it is, so that a newer
// version of the package changes nothing.
func packPage(page, to string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if packed, err := os.ReadFile(to); err == nil {
		var was bytes.Buffer
		if _, err := was.ReadFrom(brotli.NewReader(bytes.NewReader(packed))); err == nil && bytes.Equal(was.Bytes(), text) {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, brotli.BestCompression)
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

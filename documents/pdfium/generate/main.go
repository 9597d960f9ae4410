// Command generate takes PDFium from the npm package that package-lock.json pins,
// and writes the module, compressed, and its licenses into the parent directory.
// It needs npm; Sluice itself needs only what is written.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"
)

func main() {
	if err := generate("generate", "."); err != nil {
		fmt.Fprintln(os.Stderr, "pdfium:", err)
		os.Exit(1)
	}
}

// generate installs the package in a directory and writes the files to another.
func generate(dir, to string) error {
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	npm.Dir, npm.Stderr = dir, os.Stderr
	if err := npm.Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	from := filepath.Join(dir, "node_modules", "@embedpdf", "pdfium")
	return errors.Join(
		compress(filepath.Join(from, "dist", "pdfium.wasm"), filepath.Join(to, "pdfium.wasm.br")),
		joinLicenses(from, filepath.Join(to, "LICENSE")),
	)
}

// compress leaves a file that has the content already as it is, so that a newer version of the package changes nothing.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if present, err := os.ReadFile(to); err == nil {
		if was, err := io.ReadAll(brotli.NewReader(bytes.NewReader(present))); err == nil && bytes.Equal(was, data) {
			return nil
		}
	}
	var b bytes.Buffer
	w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

// joinLicenses writes the license of PDFium and that of its build.
func joinLicenses(from, to string) error {
	var b strings.Builder
	b.WriteString("Sluice embeds PDFium, built as WebAssembly by the npm package @embedpdf/pdfium.\n")
	for _, name := range []string{"LICENSE.pdfium", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n\n%s\n", name, bytes.TrimSpace(text))
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

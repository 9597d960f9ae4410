// Command generate writes the price list that Sluice ships, from the npm package
// that package-lock.json pins. It needs npm and Node.js; Sluice itself needs only
// what is written.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"sluice/providers/prices"
)

const source = "@pydantic/genai-prices"

func main() {
	if err := generate("generate", "."); err != nil {
		fmt.Fprintln(os.Stderr, "prices:", err)
		os.Exit(1)
	}
}

// generate installs the package in a directory and writes the list and its license to
// another.
func generate(dir, to string) error {
	if _, err := run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"); err != nil {
		return err
	}
	data, err := run(dir, "node", "dump.mjs")
	if err != nil {
		return err
	}
	list := prices.File{}
	if err := json.Unmarshal(data, &list.Providers); err != nil {
		return fmt.Errorf("read the data of %s: %w", source, err)
	}
	if list.Source, list.Date, err = published(dir); err != nil {
		return err
	}
	list.Providers = slices.DeleteFunc(list.Providers, func(p prices.Provider) bool { return !prices.Used(p.ID) })
	for i := range list.Providers {
		list.Providers[i].KeepTokens()
	}
	var compact bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		return err
	}
	calculated, err := run(dir, "node", "calculate.mjs")
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(dir, "node_modules", source, "LICENSE"))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(compact.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	text := "prices.json.gz has prices from the npm package " + list.Source + ".\n\n" + string(bytes.TrimSpace(license)) + "\n"
	return errors.Join(os.WriteFile(filepath.Join(to, "prices.json.gz"), packed.Bytes(), 0o644),
		os.WriteFile(filepath.Join(to, "testdata", "calculated.json"), calculated, 0o644), os.WriteFile(filepath.Join(to, "LICENSE"), []byte(text), 0o644))
}

// published returns the name with the version of the package, and the day on which
// that version was published.
func published(dir string) (name, day string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", source, "package.json"))
	if err != nil {
		return "", "", err
	}
	var p struct{ Version string }
	if err := json.Unmarshal(data, &p); err != nil {
		return "", "", err
	}
	data, err = run(dir, "npm", "view", source, "time", "--json")
	if err != nil {
		return "", "", err
	}
	var times map[string]time.Time
	if err := json.Unmarshal(data, &times); err != nil {
		return "", "", err
	}
	return source + " " + p.Version, times[p.Version].UTC().Format(time.DateOnly), nil
}

// run runs a command in a directory and returns what it prints.
func run(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Command generate writes the shipped list of well-known models, known.json, from
// the npm package that package-lock.json pins. It needs npm and Node.js; Sluice
// itself needs only what is written.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// released is the day on which the pinned version of the package came out, which
// pages show beside its prices. Change it together with the version.
const released = "2026-09-23"

func main() {
	if err := generate("generate", "known.json"); err != nil {
		fmt.Fprintln(os.Stderr, "known models:", err)
		os.Exit(1)
	}
}

// generate installs the package in a directory and writes the list, and the license
// of its source beside it.
func generate(dir, to string) error {
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	install.Dir, install.Stderr = dir, os.Stderr
	if err := install.Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	list := exec.Command("node", "known.mjs", released)
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("node known.mjs: %w", err)
	}
	license, err := os.ReadFile(filepath.Join(dir, "node_modules", "@pydantic", "genai-prices", "LICENSE"))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, out, 0o644), os.WriteFile(to+".LICENSE", license, 0o644))
}

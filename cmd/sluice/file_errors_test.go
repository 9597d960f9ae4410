package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileErrors_name_file_and_fix checks that commands name the file that they cannot use and
// the fix, instead of the operating system's message.
func TestFileErrors_name_file_and_fix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	var out, errs bytes.Buffer
	if code := run([]string{"migrate", "--data-dir=" + data}, nil, &out, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	missing, file := filepath.Join(dir, "gone.json"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"import of a missing file":        {[]string{"flow", "import", missing}, "there is no file or directory " + missing + "; check the path"},
		"import below a file":             {[]string{"flow", "import", filepath.Join(file, "a.json")}, "is not a directory; check the path"},
		"run of a missing file":           {[]string{"flow", "run", missing}, "there is no file or directory " + missing + "; check the path"},
		"backup into a missing directory": {[]string{"backup", filepath.Join(dir, "gone", "a.backup")}, "check the path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := run(append(c.args, "--data-dir="+data), nil, &out, &errs)
			if code != exitError || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "no such file") {
				t.Errorf("exits %d and says %q, want %q", code, errs.String(), c.want)
			}
		})
	}
}

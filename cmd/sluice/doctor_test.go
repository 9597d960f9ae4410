package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/db"
)

// TestDoctor breaks a set-up in one way per case and checks that doctor reports the problem and
// its fix.
func TestDoctor(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for name, test := range map[string]struct {
		hurt func(t *testing.T, dir string)
		args []string
		says []string
	}{
		"another master key":        {args: []string{"--master-key=" + strings.Repeat("A", 43) + "="}, says: []string{"does not match", "SLUICE_MASTER_KEY"}},
		"an unreadable master key":  {args: []string{"--master-key=abc"}, says: []string{"32 bytes in base64"}},
		"no master key":             {hurt: remove(db.KeyFile), says: []string{"no master key", "put the key of this database there"}},
		"no key where it should be": {args: []string{"--master-key-file=/nowhere/x.key"}, says: []string{"no master key in /nowhere/x.key"}},
		"a master key for all":      {hurt: chmod(db.KeyFile, 0o644), says: []string{"master.key (mode 0644)", "chmod 600 "}},
		"a master key for a group":  {hurt: chmod(db.KeyFile, 0o640), says: []string{"master.key (mode 0640)", "chmod 600 "}},
		"a damaged database":        {hurt: overwrite(db.DatabaseFile), says: []string{"is damaged", "sluice restore --replace"}},
		"a port in use":             {args: []string{"--addr=" + busy.Addr().String()}, says: []string{"Another program", "set SLUICE_ADDR to"}},
		"a metrics port in use":     {args: []string{"--metrics-addr=" + busy.Addr().String()}, says: []string{"Another program", "set SLUICE_METRICS_ADDR to"}},
		"a peer port in use":        {args: []string{"--peer-addr=" + busy.Addr().String()}, says: []string{"Another program", "set SLUICE_PEER_ADDR to"}},
		"a peer address for all":    {args: []string{"--peer-addr=:8081"}, says: []string{"SLUICE_PEER_ADDR", "10.0.0.5:8081"}},
		"a foreign address":         {args: []string{"--addr=192.0.2.7:8080", "--public-url=https://sluice.invalid"}, says: []string{"192.0.2.7:8080 cannot be listened on"}},
		"no address":                {args: []string{"--addr=8080"}, says: []string{"HOST:PORT"}},
		"no metrics address":        {args: []string{"--metrics-addr=9091"}, says: []string{"SLUICE_METRICS_ADDR as HOST:PORT"}},
		"no mail server":            {args: []string{"--smtp-url=smtp://u:hunter2@127.0.0.1:1?from=a@example.com"}, says: []string{"127.0.0.1:1 does not work", "connection refused", "SLUICE_SMTP_URL"}},
		"no sender of mail":         {args: []string{"--smtp-url=smtp://127.0.0.1:1"}, says: []string{"SLUICE_SMTP_URL: add the address of the sender"}},
		"a path in the URL":         {args: []string{"--public-url=https://example.com/sluice"}, says: []string{"without a path"}},
		"a file for a directory":    {args: []string{"--data-dir=doctor_test.go"}, says: []string{"doctor_test.go is not a directory", "SLUICE_DATA_DIR"}},
		"a directory below a file":  {args: []string{"--data-dir=doctor_test.go/data"}, says: []string{"is not a directory", "SLUICE_DATA_DIR"}},
		"no PostgreSQL":             {args: []string{"--database-url=postgres://u:hunter2@127.0.0.1:1/x"}, says: []string{"connection refused", "DATABASE_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if code, out := doctor(t, dir, "migrate"); code != exitOK {
				t.Fatal(out)
			}
			if test.hurt != nil {
				test.hurt(t, dir)
			}
			code, out := doctor(t, dir, append([]string{"doctor"}, test.args...)...)
			if code != exitError || !strings.Contains(out, "BAD") {
				t.Errorf("exit %d, and nothing is bad:\n%s", code, out)
			}
			for _, text := range test.says {
				if !strings.Contains(out, text) {
					t.Errorf("%q is not in:\n%s", text, out)
				}
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("the password is shown:\n%s", out)
			}
		})
	}
	t.Run("a healthy set-up", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		doctor(t, dir, "migrate")
		if code, out := doctor(t, dir, "doctor"); code != exitOK || strings.Contains(out, "BAD") {
			t.Errorf("exit %d:\n%s", code, out)
		}
	})
	t.Run("the directory of another user", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Chown(dir, 65532, -1); err != nil {
			t.Skip("only root gives a directory away")
		}
		if code, out := doctor(t, dir, "doctor"); code != exitOK || !strings.Contains(out, "belongs to user 65532") {
			t.Errorf("exit %d:\n%s", code, out)
		}
	})
	t.Run("a disk that is not mounted", func(t *testing.T) {
		t.Parallel()
		if code, out := doctor(t, filepath.Join(t.TempDir(), "disk"), "doctor"); code != exitOK || !strings.Contains(out, "mount its disk") {
			t.Errorf("exit %d:\n%s", code, out)
		}
	})
}

// TestDoctor_reader checks that each guard of the document reader is reported, with advice if it
// is not effective.
func TestDoctor_reader(t *testing.T) {
	t.Parallel()
	_, out := doctor(t, t.TempDir(), "doctor", "--json")
	var report struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for guard := range readerAdvice {
		i := slices.IndexFunc(report.Findings, func(f finding) bool { return f.Name == "reader's "+guard })
		if i < 0 {
			t.Errorf("nothing is said of %s: %s", guard, out)
		} else if f := report.Findings[i]; f.Text == "" || (f.State == verdictOK) != (f.Advice == "") && guard != "privileges" {
			t.Errorf("%+v", f)
		}
	}
}

// doctor runs a command on a data directory; the last of two equal flags takes effect.
func doctor(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(append([]string{args[0], "--data-dir=" + dir, "--addr=127.0.0.1:0"}, args[1:]...), nil, &out, &errs)
	return code, cmp.Or(out.String(), errs.String())
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func overwrite(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("damaged "), 1024), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUsageErrors_name_the_help checks that a usage error names the help to read.
func TestUsageErrors_name_the_help(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"flow publish": "'sluice flow publish --help' for", "key create": "'sluice key create --help' for", "flow": "'sluice flow --help' for",
		"serve --nonsense": "'sluice serve --help' for", "nonsense": "'sluice --help' for",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := run(strings.Fields(args), nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
				t.Errorf("exit %d: %s", code, &errs)
			}
		})
	}
}

// TestInvalidValue_names_its_variable checks that an invalid value is reported with its variable.
func TestInvalidValue_names_its_variable(t *testing.T) {
	for variable, want := range map[string]string{
		"SLUICE_WORKERS": "wanted a whole number", "SLUICE_RETENTION": "write 30d or 36h", "SLUICE_MAX_FILE": "write 100MB or 1GiB", "SLUICE_LOG": `"text","json"`,
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "many")
			code, out := doctor(t, t.TempDir(), "doctor")
			if code != exitUsage || !strings.Contains(out, want) || strings.Contains(out, "envar") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

// TestSettings_that_cannot_work checks that the server ends with the exit code that tells service
// managers not to start it again.
func TestSettings_that_cannot_work(t *testing.T) {
	for variable, value := range map[string]string{"SLUICE_ADDR": "8080", "DATABASE_URL": "mysql://localhost/sluice"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			t.Chdir(t.TempDir())
			var out, errs bytes.Buffer
			if code := run(nil, nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), variable) {
				t.Errorf("exit %d: %s", code, &errs)
			}
			for _, name := range []string{db.KeyFile, db.DatabaseFile} {
				if _, err := os.Stat(filepath.Join("data", name)); err == nil {
					t.Errorf("it made %s", name)
				}
			}
		})
	}
}

// TestHabits_from_other_programs checks that help and --version work as in other programs.
func TestHabits_from_other_programs(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"help": "Commands:", "help run list": "sluice run list", "--version": "sluice dev"} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(args), nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d: %s%s", args, code, &out, &errs)
		}
	}
}

func chmod(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

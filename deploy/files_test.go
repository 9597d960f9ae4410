package deploy

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestSystemdUnit checks the unit with systemd: that it understands each line, and that little of the
// machine is exposed to the service.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("systemd-analyze")
	need.Tool(t, "systemd-analyze is not installed", err == nil)
	text, err := os.ReadFile("sluice.service")
	if err != nil {
		t.Fatal(err)
	}
	// The program is not installed where the unit expects it, so another takes its place.
	unit := filepath.Join(t.TempDir(), "sluice.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/sluice", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v: %s", err, out)
	}
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", unit).CombinedOutput(); err != nil {
		t.Errorf("the exposure is over 2.5: %v: %s", err, out)
	}
}

func TestComposeInit_writes_secrets_once(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile("compose-init")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "compose-init")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []string{"", "https://example.com", "a b", "x;y"} {
		if out, err := exec.Command("sh", path, domain).CombinedOutput(); err == nil || !strings.Contains(string(out), "usage: ") {
			t.Errorf("%q: %v: %s", domain, err, out)
		}
	}
	if out, err := exec.Command("sh", path, "flows.example.com").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	env, err := os.ReadFile(filepath.Join(dir, ".env"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)\A#.*\nSLUICE_DOMAIN=flows\.example\.com\nSLUICE_MASTER_KEY=(.*)\nPOSTGRES_PASSWORD=([0-9a-f]{64})\n\z`).FindSubmatch(env)
	if m == nil {
		t.Fatalf("it wrote %s", env)
	}
	if key, err := base64.StdEncoding.DecodeString(string(m[1])); err != nil || len(key) != 32 {
		t.Errorf("the master key has %d bytes: %v", len(key), err)
	}
	if info, err := os.Stat(filepath.Join(dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secrets have the mode %v: %v", info.Mode(), err)
	}
	if out, err := exec.Command("sh", path, "other.example.com").CombinedOutput(); err == nil || !strings.Contains(string(out), "exists already") {
		t.Errorf("again: %v: %s", err, out)
	}
	if again, err := os.ReadFile(filepath.Join(dir, ".env")); err != nil || string(again) != string(env) {
		t.Errorf("the second call changed it: %v", err)
	}
}

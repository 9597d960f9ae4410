package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sluice/jobs"
)

// TestShutdownTimeouts checks that a shutdown ends within 35 s of SLUICE_DRAIN_DELAY,
// and that service managers wait that long before they kill the process. It adds up
// timeouts, because a measured time would depend on the machine.
func TestShutdownTimeouts(t *testing.T) {
	t.Parallel()
	const contract, drainDelay = 35 * time.Second, 2 * time.Second
	if sum := drainTimeout + jobs.DrainGrace + closeTimeout; sum > contract {
		t.Errorf("a shutdown may take %s, more than %s", sum, contract)
	}
	for file, setting := range map[string]string{
		"deploy/sluice.service": `TimeoutStopSec=(\d+)`, "fly.toml": `kill_timeout = (\d+)`, "deploy/fly.postgres.toml": `kill_timeout = (\d+)`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(setting).FindSubmatch(text)
		if m == nil {
			t.Errorf("%s has no %s", file, setting)
			continue
		}
		if s, _ := strconv.Atoi(string(m[1])); time.Duration(s)*time.Second < contract+drainDelay {
			t.Errorf("%s kills the process after %d s", file, s)
		}
	}
}

// TestOtherTerminal checks that printed commands find the data of the running server.
func TestOtherTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg             Config
		from, variables string
	}{
		{Config{DataDir: "/srv/sluice"}, "from the same directory", "SLUICE_DATA_DIR=/srv/sluice "},
		{Config{}, "from the same directory", ""},
		{Config{DataDir: "/srv/sluice", DatabaseURL: "postgres://sluice:secret@db/sluice"}, "with the same DATABASE_URL and master key in its environment", ""},
	} {
		if from, variables := c.cfg.otherTerminal(); from != c.from || variables != c.variables {
			t.Errorf("%+v: %q, %q", c.cfg, from, variables)
		}
	}
}

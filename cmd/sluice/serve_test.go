package main

import "testing"

// TestElsewhere: a command beside the server must find what the server works on.
func TestElsewhere(t *testing.T) {
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

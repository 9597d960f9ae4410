package main

import (
	"strings"
	"testing"

	"sluice/db/dbtest"
)

// TestDoctor_pooler checks that doctor distinguishes the pool modes, and that the server refuses
// to start behind unsupported ones.
func TestDoctor_pooler(t *testing.T) {
	t.Parallel()
	for mode, test := range map[string]struct {
		code int
		says string
	}{
		"transaction": {exitError, "which Sluice does not support"},
		"statement":   {exitError, "which Sluice does not support"},
		"session":     {exitOK, "a connection pooler in session mode"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := dbtest.PgBouncer(t, dbtest.PostgresConfig(t), mode)
			args := []string{"--database-url=" + cfg.DatabaseURL, "--master-key=" + cfg.MasterKey}
			if code, out := doctor(t, cfg.DataDir, append([]string{"doctor"}, args...)...); code != test.code || !strings.Contains(out, test.says) {
				t.Errorf("doctor: exit %d:\n%s", code, out)
			}
			if test.code == exitOK {
				return
			}
			code, out := doctor(t, cfg.DataDir, append([]string{"serve"}, args...)...)
			if code != exitError || !strings.Contains(out, "set the pooler to session mode") || strings.Count(out, "\n") != 1 {
				t.Errorf("serve: exit %d:\n%s", code, out)
			}
		})
	}
}

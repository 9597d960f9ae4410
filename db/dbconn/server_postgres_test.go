package dbconn

import (
	"strings"
	"testing"
)

func TestCheckVersion_refuses_other_databases(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit": "",
		"PostgreSQL 11.2-YB-2.19.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit":                     "YugabyteDB",
		"CockroachDB CCL v23.2.3 (x86_64-pc-linux-gnu, built 2024/03/20 20:25:54, go1.21.5 X:nocoverageredesign)":             "CockroachDB",
	} {
		err := checkVersion(version)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

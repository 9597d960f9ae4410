package dbconn

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// foreignServers are databases that speak PostgreSQL's protocol but lack what Sluice needs of it, by a text
// in their version.
var foreignServers = []struct{ version, name string }{
	{"CockroachDB", "CockroachDB, which has neither LISTEN nor advisory locks"},
	{"-YB-", "YugabyteDB, with which Sluice was never tested"},
}

// CheckServer returns an error if a server is not PostgreSQL. It prepares no statement, because it may be called before a pooler in
// transaction mode is detected.
func CheckServer(ctx context.Context, pool *pgxpool.Pool) error {
	var version string
	if err := pool.QueryRow(ctx, "SELECT version()", pgx.QueryExecModeSimpleProtocol).Scan(&version); err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	return checkVersion(version)
}

// checkVersion returns an error if a version is not one of PostgreSQL.
func checkVersion(version string) error {
	for _, s := range foreignServers {
		if strings.Contains(version, s.version) {
			return fmt.Errorf("DATABASE_URL points at %s. Use PostgreSQL", s.name)
		}
	}
	return nil
}

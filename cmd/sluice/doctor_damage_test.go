package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestFindings_damage has an index that was rebuilt, a row that is passed over, and unused pages.
func TestFindings_damage(t *testing.T) {
	t.Parallel()
	var f findings
	f.database(db.Inspection{Unused: 3, Damaged: []flow.DamagedRow{
		{Table: "runs", ID: "runs_expiry", Task: db.IndexTask, Error: "it was damaged and has been rebuilt"},
		{Table: "runs", ID: "run_1", Task: "erase", Error: "refused"},
		{Table: "runs", ID: "page 2", Task: "read", Error: "invalid page in block 2"},
	}})
	for name, want := range map[string]string{
		"indexes":      "1 index was damaged in the last day: runs runs_expiry",
		"rows":         "1 row cannot be read or processed and is passed over: runs run_1 (erase: refused)",
		"tables":       "1 page of a table is damaged. Its rows cannot be read, and all other rows are served: runs page 2 (read: invalid page in block 2)",
		"unused pages": "3 pages of the database waste space",
	} {
		found := false
		for _, one := range f {
			found = found || one.Name == name && strings.Contains(one.Text, want) && one.Advice != ""
		}
		if !found {
			t.Errorf("%s: %q is not among %+v", name, want, f)
		}
	}
}

// TestDoctor_names_a_damaged_page_of_PostgreSQL overwrites a page that nothing reads before doctor does. Its advice works.
func TestDoctor_names_a_damaged_page_of_PostgreSQL(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("damaged")
	store, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	admin := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), server.AdminURL("damaged"))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := admin()
	var file string
	if _, err := conn.Exec(t.Context(), "INSERT INTO meta (name, value) SELECT 'padding ' || n, '' FROM generate_series(1, 2000) n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT pg_relation_filepath('meta')").Scan(&file); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	server.DamagePage(file, 3)
	args := []string{"doctor", "--database-url=" + cfg.DatabaseURL, "--master-key=" + cfg.MasterKey}
	_, out := doctor(t, cfg.DataDir, args...)
	for _, want := range []string{"meta page 3", "invalid page in block 3", "SET zero_damaged_pages = on; VACUUM FULL meta;"} {
		if !strings.Contains(out, want) {
			t.Fatalf("no %q in\n%s", want, out)
		}
	}
	conn = admin()
	defer conn.Close(t.Context())
	for _, advice := range []string{"SET zero_damaged_pages = on", "VACUUM FULL meta"} {
		if _, err := conn.Exec(t.Context(), advice); err != nil {
			t.Fatal(err)
		}
	}
	if _, out := doctor(t, cfg.DataDir, args...); strings.Contains(out, "is damaged") {
		t.Error(out)
	}
}

package backup

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestCreate_frees_the_storage_of_erased_files erases one of two files with the
// same content, and then the other, between the snapshot and the packing. All other
// tests of backups are in package db, whose fixtures they need.
func TestCreate_frees_the_storage_of_erased_files(t *testing.T) {
	t.Parallel()
	s, ctx, ws := dbtest.SQLite(t), t.Context(), flow.WorkspaceID(flow.DefaultWorkspace)
	save := func(text string) *flow.File {
		t.Helper()
		f, err := s.SaveFile(ctx, flow.NewFile{WorkspaceID: ws, Name: "a.txt"}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	save("kept")
	gone, again := save("gone"), save("gone")
	from, path := source{DB: s.DB, bucket: blobs.NewBucket(s.DB)}, filepath.Join(t.TempDir(), core.DatabaseFile)
	if err := from.snapshot(ctx, path); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*flow.File{gone, again} {
		if err := s.EraseFile(ctx, ws, f.ID); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := sql.OpenDB(core.NewConnector(path, "mode=rw", ""))
	defer snapshot.Close()
	if err := from.eraseMissing(ctx, snapshot, []string{gone.Hash}, &Manifest{}); err != nil {
		t.Fatal(err)
	}
	var have int64
	if err := snapshot.QueryRowContext(ctx, "SELECT sum(bytes) FROM storage WHERE workspace_id = ?", ws).Scan(&have); err != nil {
		t.Fatal(err)
	}
	want, err := s.FindStorage(ctx, ws)
	if err != nil {
		t.Fatal(err)
	}
	if have != want.Used.Bytes {
		t.Errorf("the backup counts %d bytes, the database %d", have, want.Used.Bytes)
	}
}

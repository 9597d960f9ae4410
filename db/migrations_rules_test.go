package db_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/db"
)

// lastUnruled is the last migration from before the rules below. Upgrades of such
// databases need downtime.
const lastUnruled = "00010_accounts.sql"

// bigTables grow with every run. Programs of the previous release read and write
// them while a migration runs.
var bigTables = []string{
	"audit", "delivery_attempts", "deliveries", "edits", "endpoints", "files", "idempotency", "run_files", "runs", "steps", "usage_daily", "wakes",
}

// refusals are statements that would break a program of the previous release.
var refusals = []struct {
	form *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`(?i)^DROP (TABLE|VIEW|COLUMN)`), "the previous release still uses it"},
	{regexp.MustCompile(`(?i)^ALTER TABLE .* DROP `), "the previous release still uses it"},
	{regexp.MustCompile(`(?i)^ALTER .* RENAME `), "the previous release knows the old name only"},
	{regexp.MustCompile(`(?i)^ALTER TABLE .* ALTER `), "the previous release writes by the old rule"},
	{regexp.MustCompile(`(?i)^ALTER TABLE .* ADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b`), "the previous release may write rows that break it"},
	{regexp.MustCompile(`(?i)^CREATE (TRIGGER|RULE)`), "statements of the previous release would do something else"},
	{regexp.MustCompile(`(?i)^(TRUNCATE|LOCK|VACUUM|CLUSTER|REINDEX)\b`), "it stops other instances"},
}

var (
	createTable  = regexp.MustCompile(`(?i)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	createIndex  = regexp.MustCompile(`(?i)^CREATE (UNIQUE )?INDEX (CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+) ON (\w+)`)
	dropIndex    = regexp.MustCompile(`(?i)^DROP INDEX CONCURRENTLY IF EXISTS (\w+)$`)
	addColumn    = regexp.MustCompile(`(?i)^ALTER TABLE (\w+) ADD (?:COLUMN )?(\w+) (.*)$`)
	notNull      = regexp.MustCompile(`(?i)\bNOT NULL\b`)
	hasDefault   = regexp.MustCompile(`(?i)\bDEFAULT\b`)
	changesRows  = regexp.MustCompile(`(?i)^(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)`)
	sqlComment   = regexp.MustCompile(`(?m)--.*$`)
	white        = regexp.MustCompile(`\s+`)
	contractMark = regexp.MustCompile(`(?m)^-- contract: no release since ([0-9]+\.[0-9]+\.[0-9]+) uses what this removes\.$`)
)

// breaches returns the rules that a migration breaks: what would harm a program of the
// previous release that runs at the same time. releases are the existing releases.
func breaches(text string, releases []string) (list []string) {
	breach := func(statement, why string) { list = append(list, statement+": "+why) }
	concurrent := strings.Contains(text, "+goose NO TRANSACTION")
	contract := contractMark.FindStringSubmatch(text)
	if contract != nil && !slices.Contains(releases, contract[1]) {
		breach(contract[0], "there is no such release")
	}
	var statements []string
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(text, ""), ";") {
		if statement = strings.TrimSpace(white.ReplaceAllString(statement, " ")); statement != "" {
			statements = append(statements, statement)
		}
	}
	var own []string // tables that the migration makes: no older program knows them
	for i, s := range statements {
		if concurrent && !dropIndex.MatchString(s) && !createIndex.MatchString(s) {
			breach(s, "a migration without a transaction only drops and builds indexes, so that it can be tried again")
		}
		if m := createTable.FindStringSubmatch(s); m != nil {
			own = append(own, m[1])
		}
		for _, r := range refusals {
			if contract == nil && r.form.MatchString(s) {
				breach(s, r.why)
			}
		}
		if m := addColumn.FindStringSubmatch(s); m != nil && notNull.MatchString(m[3]) && !hasDefault.MatchString(m[3]) {
			breach(s, "the previous release inserts rows without this column")
		}
		if m := changesRows.FindStringSubmatch(s); m != nil && slices.Contains(bigTables, m[1]) {
			breach(s, "it may take minutes, with the table locked; let the program do it in batches")
		}
		if m := createIndex.FindStringSubmatch(s); m != nil && !slices.Contains(own, m[4]) {
			if m[1] != "" {
				breach(s, "the previous release may write rows that break it")
			}
			if slices.Contains(bigTables, m[4]) && m[2] == "" {
				breach(s, "it stops writes while it is built; build it CONCURRENTLY")
			}
			if m[2] != "" && (!concurrent || i == 0 || !slices.Equal(dropIndex.FindStringSubmatch(statements[i-1]), []string{"DROP INDEX CONCURRENTLY IF EXISTS " + m[3], m[3]})) {
				breach(s, "it needs NO TRANSACTION, and DROP INDEX CONCURRENTLY IF EXISTS before it for what a build that was cut short left")
			}
		}
	}
	return list
}

// TestMigrations_expand_only checks the promise of docs/upgrading.md: instances of the
// previous release keep working during every migration.
func TestMigrations_expand_only(t *testing.T) {
	t.Parallel()
	changelog, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	var releases []string
	for _, m := range regexp.MustCompile(`(?m)^## \[?([0-9]+\.[0-9]+\.[0-9]+)`).FindAllStringSubmatch(string(changelog), -1) {
		releases = append(releases, m[1])
	}
	names, err := fs.Glob(db.EmbeddedMigrations(), "*.sql")
	if err != nil || !slices.Contains(names, lastUnruled) || !slices.Contains(releases, "0.1.0") {
		t.Fatalf("migrations %v, releases %v, %v", names, releases, err)
	}
	for _, name := range names {
		if name <= lastUnruled {
			continue
		}
		text, err := fs.ReadFile(db.EmbeddedMigrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range breaches(string(text), releases) {
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestBreaches_finds_every_rule(t *testing.T) {
	t.Parallel()
	const alone = "-- +goose NO TRANSACTION\n-- +goose Up\n"
	for text, want := range map[string]string{
		"ALTER TABLE runs ADD COLUMN a BIGINT NOT NULL DEFAULT 0;":                                     "",
		"ALTER TABLE runs ADD COLUMN a BIGINT;":                                                        "",
		"CREATE TABLE a (b TEXT NOT NULL); CREATE UNIQUE INDEX c ON a (b); INSERT INTO a SELECT 1;":    "",
		"CREATE INDEX a ON flows (name);":                                                              "",
		"DROP INDEX runs_list; -- slower, and right":                                                   "",
		"UPDATE flows SET name = '';":                                                                  "",
		alone + "DROP INDEX CONCURRENTLY IF EXISTS a;\nCREATE INDEX CONCURRENTLY a ON runs (id);":      "",
		"-- contract: no release since 0.1.0 uses what this removes.\nALTER TABLE runs DROP COLUMN a;": "",

		"-- contract: no release since 0.7.0 uses what this removes.\nALTER TABLE runs DROP COLUMN a;":     "no such release",
		"ALTER TABLE runs ADD COLUMN a BIGINT NOT NULL;":                                                   "without this column",
		"ALTER TABLE runs DROP COLUMN a;":                                                                  "still uses it",
		"DROP TABLE runs;":                                                                                 "still uses it",
		"alter table runs\n  rename column a to b;":                                                        "old name",
		"ALTER TABLE runs ALTER COLUMN a SET NOT NULL;":                                                    "old rule",
		"ALTER TABLE runs ADD CONSTRAINT a CHECK (b > 0);":                                                 "break it",
		"CREATE UNIQUE INDEX a ON flows (name);":                                                           "break it",
		"CREATE INDEX a ON runs (id);":                                                                     "CONCURRENTLY",
		"CREATE INDEX CONCURRENTLY a ON runs (id);":                                                        "NO TRANSACTION",
		alone + "CREATE INDEX CONCURRENTLY a ON runs (id);":                                                "DROP INDEX CONCURRENTLY",
		alone + "DROP INDEX CONCURRENTLY IF EXISTS b; CREATE INDEX CONCURRENTLY a ON runs (id);":           "DROP INDEX CONCURRENTLY",
		alone + "DROP INDEX CONCURRENTLY IF EXISTS a; CREATE INDEX CONCURRENTLY a ON runs (id); SELECT 1;": "only drops and builds",
		"UPDATE runs SET busy = 1;":                                                                        "batches",
		"CREATE TRIGGER a BEFORE INSERT ON runs EXECUTE FUNCTION b();":                                     "something else",
	} {
		list := breaches(text, []string{"0.1.0"})
		if got := strings.Join(list, "\n"); (want == "") != (len(list) == 0) || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if text := fmt.Sprint(breaches("ALTER TABLE runs DROP COLUMN a;", nil)); !strings.Contains(text, "ALTER TABLE runs DROP COLUMN a") {
		t.Errorf("the statement is not named: %s", text)
	}
}

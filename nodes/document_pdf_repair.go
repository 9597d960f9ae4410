package nodes

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

var (
	pdfObject  = regexp.MustCompile(`(?:^|[\r\n\s])(\d{1,9})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`)
	pdfRoot    = regexp.MustCompile(`/Root[ \t\r\n]+(\d{1,9})[ \t\r\n]+(\d{1,5})[ \t\r\n]+R`)
	pdfCatalog = regexp.MustCompile(`/Type[ \t\r\n]*/Catalog\b`)
)

// repairEntry is more than an entry in a table of objects takes, in bytes.
const repairEntry = 40

// repairPDF writes a new table of objects behind a file whose own is broken, by
// searching for the objects themselves. ok is false if no catalog was found.
func repairPDF(data []byte) (repaired []byte, ok bool) {
	offsets, catalog := map[int]int{}, 0
	for _, m := range pdfObject.FindAllSubmatchIndex(data, maxPDFPages) {
		id, _ := strconv.Atoi(string(data[m[2]:m[3]]))
		if id > maxPDFPages {
			continue
		}
		offsets[id] = m[2] // a later object of the same number replaces an earlier one
		if pdfCatalog.Match(data[m[1]:min(len(data), m[1]+500)]) && catalog == 0 {
			catalog = id
		}
	}
	if m := pdfRoot.FindSubmatch(data); m != nil {
		catalog, _ = strconv.Atoi(string(m[1]))
	}
	if len(offsets) == 0 || catalog == 0 {
		return nil, false
	}
	out := bytes.NewBuffer(make([]byte, 0, len(data)+repairEntry*(len(offsets)+10)))
	out.Write(data)
	out.WriteString("\n")
	start := out.Len()
	out.WriteString("xref\n0 1\n0000000000 65535 f \n")
	size := 0
	for id, at := range offsets {
		fmt.Fprintf(out, "%d 1\n%010d 00000 n \n", id, at)
		size = max(size, id+1)
	}
	fmt.Fprintf(out, "trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF", size, catalog, start)
	return out.Bytes(), true
}

package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"sluice/sandbox"
)

// sheetCPU is the limit of CPU time in seconds for converting a workbook to rows.
const sheetCPU = 120

// maxConverted bounds the rows of a workbook as JSON, in bytes.
const maxConverted = 512 << 20

// sheetRow is a line of the answer of a child that converts a workbook: a row, or why it ends early.
type sheetRow struct {
	Number  int      `json:",omitempty"`
	Cells   []string `json:",omitempty"`
	Refused *Error   `json:",omitempty"`
}

// openBook opens a workbook in memory.
func openBook(data []byte) (*excelize.File, error) {
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{
		UnzipSizeLimit: maxOfficeBytes, UnzipXMLSizeLimit: maxOfficeBytes, // equal, so that nothing is unpacked to files
		ShortDatePattern: "yyyy-mm-dd", LongDatePattern: "yyyy-mm-dd", LongTimePattern: "hh:mm:ss",
	})
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword), errors.Is(err, excelize.ErrUnsupportedEncryptMechanism):
		return nil, refuse("The workbook is protected by a password. Save it without one, then try again.")
	case err != nil && strings.Contains(err.Error(), "unzip size exceeds"):
		return nil, errTooLarge
	case err != nil:
		return nil, damagedOffice
	}
	return book, nil
}

// writeSheet writes the rows of the first visible sheet of a workbook as lines of JSON. Cells are as in readSheets.
func writeSheet(data []byte, out io.Writer) error {
	w := bufio.NewWriterSize(out, tablePeek)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	err := eachSheetRow(data, func(row sheetRow) error { return lines.Encode(row) })
	if refused, ok := errors.AsType[*Error](err); ok {
		err = lines.Encode(sheetRow{Refused: refused})
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// eachSheetRow calls each with the rows of the first visible sheet of a workbook.
func eachSheetRow(data []byte, each func(sheetRow) error) error {
	book, err := openBook(data)
	if err != nil {
		return err
	}
	w := &sheetReader{book: book, parts: sheetParts(data)}
	names := book.GetSheetList()
	for len(names) > 1 && w.visibility(names[0]) != "" {
		names = names[1:]
	}
	if len(names) == 0 {
		return damagedOffice
	}
	layout := readSheetLayout(w.part(names[0]))
	rows, err := book.Rows(names[0])
	if err != nil {
		return damagedOffice
	}
	defer rows.Close() //nolint:errcheck // it is in memory
	exact := w.exactRows(names[0], layout)
	for number := 1; rows.Next(); number++ {
		cells, err := rows.Columns()
		if err != nil {
			return damagedOffice
		}
		if exact != nil && exact.Next() {
			stored, err := exact.Columns(excelize.Options{RawCellValue: true})
			if err != nil {
				return damagedOffice
			}
			exactNumbers(cells, stored)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells = trimCells(cells); len(cells) == 0 {
			continue
		}
		if err := each(sheetRow{Number: number, Cells: cells}); err != nil {
			return err
		}
	}
	if rows.Error() != nil {
		return damagedOffice
	}
	return nil
}

// runConverter runs a child that converts a workbook, and writes its answer to rows.
func runConverter(ctx context.Context, input *os.File, rows io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, sandbox.Binary())
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = childEnvironment(""), os.TempDir(), input, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to a document reader: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a document reader: %w", err)
	}
	n, err := io.Copy(rows, io.LimitReader(out, maxConverted+1))
	if err == nil && n > maxConverted {
		err = errTooLarge
	}
	if err != nil {
		cancel() // the child may be blocked writing
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	return err
}

package pdfium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
)

// Reasons why a document cannot be opened, by FPDF_GetLastError. After one of them,
// the engine can open other documents.
var (
	ErrPassword = errors.New("pdfium: the document is protected by a password")
	ErrSecurity = errors.New("pdfium: the document uses an encryption that is not supported")
	ErrDamaged  = errors.New("pdfium: the document is damaged, or no PDF")
)

// Document is an open PDF.
type Document struct {
	e      *Engine
	handle uint64
	data   uint32 // PDFium reads from it while the document is open

	form, formInfo uint64 // for the values of form fields
}

// Open opens a document that can be read without a password. It repairs a truncated document
// as far as possible.
//
// A PDF has two passwords (ISO 32000-1, 7.6.3): the user password opens it, the
// owner password lifts restrictions, such as on printing. With only the latter, the
// user password is empty, which is what Open tries, so such a file is read.
func (e *Engine) Open(ctx context.Context, data []byte) (*Document, error) {
	d, err := e.open(ctx, data)
	if errors.Is(err, ErrDamaged) {
		if root := rootObject.FindSubmatch(data); root != nil {
			return e.open(ctx, fmt.Appendf(bytes.Clone(data), "\ntrailer\n<< /Root %s %s R >>\n%%%%EOF\n", root[1], root[2]))
		}
	}
	return d, err
}

// rootObject finds the object that a trailer refers to: PDFium looks for the
// objects of a damaged file itself, but needs a trailer.
var rootObject = regexp.MustCompile(`(?:^|\s)(\d{1,9}) (\d{1,5}) obj\s*<<[^<>]*/Type\s*/Catalog\b`)

// open opens a document as it is. PDFium does not copy data, so its copy in the
// module's memory is kept until Close. The functions that read form fields take
// the form environment rather than the document.
func (e *Engine) open(ctx context.Context, data []byte) (*Document, error) {
	at, err := e.put(ctx, data)
	if err != nil {
		return nil, err
	}
	d := &Document{e: e, data: at}
	if d.handle, err = e.call(ctx, "FPDF_LoadMemDocument", uint64(at), uint64(len(data)), 0); err != nil {
		return nil, err
	}
	if d.handle == 0 {
		defer e.free(ctx, at)
		code, err := e.call(ctx, "FPDF_GetLastError")
		switch {
		case err != nil:
			return nil, err
		case code == 4:
			return nil, ErrPassword
		case code == 5:
			return nil, ErrSecurity
		}
		return nil, ErrDamaged
	}
	if d.formInfo, err = e.call(ctx, "PDFiumExt_OpenFormFillInfo"); err != nil {
		return nil, err
	}
	d.form, err = e.call(ctx, "PDFiumExt_InitFormFillEnvironment", d.handle, d.formInfo)
	return d, err
}

// Close frees the memory of the document.
func (d *Document) Close(ctx context.Context) error {
	defer d.e.free(ctx, d.data)
	for _, step := range []struct {
		name   string
		handle uint64
	}{{"PDFiumExt_ExitFormFillEnvironment", d.form}, {"PDFiumExt_CloseFormFillInfo", d.formInfo}, {"FPDF_CloseDocument", d.handle}} {
		if _, err := d.e.call(ctx, step.name, step.handle); err != nil {
			return err
		}
	}
	return nil
}

// Pages returns the number of pages.
func (d *Document) Pages(ctx context.Context) (int, error) {
	n, err := d.e.call(ctx, "FPDF_GetPageCount", d.handle)
	return int(int32(n)), err
}

// Title returns the title that the document gives itself, or "".
func (d *Document) Title(ctx context.Context) (string, error) {
	tag, err := d.e.put(ctx, []byte("Title\x00"))
	if err != nil {
		return "", err
	}
	defer d.e.free(ctx, tag)
	return d.e.sizedText(ctx, "FPDF_GetMetaText", d.handle, uint64(tag))
}

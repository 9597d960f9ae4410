package pdfium

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
)

// Reasons why a document cannot be opened, by FPDF_GetLastError.
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
}

// Open opens a document that needs no password to be read.
func (e *Engine) Open(ctx context.Context, data []byte) (*Document, error) {
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
	return d, nil
}

// Close frees the memory of the document.
func (d *Document) Close(ctx context.Context) error {
	_, err := d.e.call(ctx, "FPDF_CloseDocument", d.handle)
	d.e.free(ctx, d.data)
	return err
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
	size, err := d.e.call(ctx, "FPDF_GetMetaText", d.handle, uint64(tag), 0, 0)
	if err != nil || uint32(size) <= 2 {
		return "", err
	}
	return d.e.text(ctx, int(uint32(size)), func(at uint32) error {
		_, err := d.e.call(ctx, "FPDF_GetMetaText", d.handle, uint64(tag), uint64(at), size)
		return err
	})
}

// Page is an open page. Its form fields are part of its contents.
type Page struct {
	d      *Document
	handle uint64
}

// flattenForScreen is the usage of FPDFPage_Flatten that keeps what a screen
// shows.
const flattenForScreen = 0

// Page opens a page, counted from 0, and flattens its form fields and other
// annotations, so that what was filled in is text and part of pictures.
func (d *Document) Page(ctx context.Context, number int) (*Page, error) {
	p := &Page{d: d}
	if err := p.load(ctx, number); err != nil {
		return nil, err
	}
	const changed = 1
	done, err := d.e.call(ctx, "FPDFPage_Flatten", p.handle, flattenForScreen)
	if err != nil || done != changed {
		return p, err
	}
	if err := p.Close(ctx); err != nil { // the change shows once the page is loaded again
		return nil, err
	}
	return p, p.load(ctx, number)
}

func (p *Page) load(ctx context.Context, number int) (err error) {
	p.handle, err = p.d.e.call(ctx, "FPDF_LoadPage", p.d.handle, uint64(number))
	if err == nil && p.handle == 0 {
		err = fmt.Errorf("page %d: %w", number+1, ErrDamaged)
	}
	return err
}

// Close frees the memory of the page.
func (p *Page) Close(ctx context.Context) error {
	_, err := p.d.e.call(ctx, "FPDF_ClosePage", p.handle)
	return err
}

// Text returns the text of the page in reading order, as PDFium finds it. Lines
// end with "\n".
func (p *Page) Text(ctx context.Context) (string, error) {
	e := p.d.e
	text, err := e.call(ctx, "FPDFText_LoadPage", p.handle)
	if err != nil || text == 0 {
		return "", err
	}
	n, err := e.call(ctx, "FPDFText_CountChars", text)
	if err != nil {
		return "", err
	}
	var s string
	if count := int(int32(n)); count > 0 {
		s, err = e.text(ctx, 2*count+2, func(at uint32) error {
			_, err := e.call(ctx, "FPDFText_GetText", text, 0, uint64(count), uint64(at))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	_, err = e.call(ctx, "FPDFText_ClosePage", text)
	return clean.Replace(s), err
}

// clean removes what PDFium puts between and into the words of a text.
var clean = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "", "\uFFFE", "", "\u0002", "-")

// text reads UTF-16 that a call writes into memory of a given size, up to its
// first zero at the end.
func (e *Engine) text(ctx context.Context, size int, write func(at uint32) error) (string, error) {
	at, err := e.allocate(ctx, size)
	if err != nil {
		return "", err
	}
	defer e.free(ctx, at)
	if err := write(at); err != nil {
		return "", err
	}
	raw, ok := e.module.Memory().Read(at, uint32(size))
	if !ok {
		return "", errAborted
	}
	units := make([]uint16, 0, size/2)
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, binary.LittleEndian.Uint16(raw))
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00"), nil
}

// Flags of FPDF_RenderPageBitmap.
const (
	drawAnnotations  = 0x01
	reverseByteOrder = 0x10 // red first
)

// Picture draws the page on white so that its longer side has so many pixels.
func (p *Page) Picture(ctx context.Context, longer int) (*image.RGBA, error) {
	e := p.d.e
	width, err := p.size(ctx, "FPDF_GetPageWidthF")
	if err != nil {
		return nil, err
	}
	height, err := p.size(ctx, "FPDF_GetPageHeightF")
	if err != nil {
		return nil, err
	}
	if width <= 0 || height <= 0 {
		return nil, ErrDamaged
	}
	scale := float64(longer) / max(width, height)
	w, h := max(int(width*scale+0.5), 1), max(int(height*scale+0.5), 1)
	bitmap, err := e.call(ctx, "FPDFBitmap_Create", uint64(w), uint64(h), 0)
	if err != nil {
		return nil, err
	}
	if bitmap == 0 {
		return nil, fmt.Errorf("pdfium: no memory for a picture of %d×%d", w, h)
	}
	const white = 0xFFFFFFFF
	if _, err := e.call(ctx, "FPDFBitmap_FillRect", bitmap, 0, 0, uint64(w), uint64(h), white); err != nil {
		return nil, err
	}
	if _, err := e.call(ctx, "FPDF_RenderPageBitmap", bitmap, p.handle, 0, 0, uint64(w), uint64(h), 0, drawAnnotations|reverseByteOrder); err != nil {
		return nil, err
	}
	picture, err := e.pixels(ctx, bitmap, w, h)
	if err != nil {
		return nil, err
	}
	_, err = e.call(ctx, "FPDFBitmap_Destroy", bitmap)
	return picture, err
}

func (e *Engine) pixels(ctx context.Context, bitmap uint64, w, h int) (*image.RGBA, error) {
	at, err := e.call(ctx, "FPDFBitmap_GetBuffer", bitmap)
	if err != nil {
		return nil, err
	}
	stride, err := e.call(ctx, "FPDFBitmap_GetStride", bitmap)
	if err != nil {
		return nil, err
	}
	raw, ok := e.module.Memory().Read(uint32(at), uint32(stride)*uint32(h))
	if !ok {
		return nil, errAborted
	}
	picture := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		copy(picture.Pix[y*picture.Stride:][:4*w], raw[y*int(stride):])
	}
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = 0xFF // the fourth byte is unused
	}
	return picture, nil
}

func (p *Page) size(ctx context.Context, name string) (float64, error) {
	v, err := p.d.e.call(ctx, name, p.handle)
	return float64(api.DecodeF32(v)), err
}

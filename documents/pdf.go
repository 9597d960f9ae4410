package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"strings"

	"sluice/documents/pdfium"
)

const (
	// MaxImages is the maximum number of pages that are drawn.
	MaxImages = 100
	// ImageSize is the longer side of an image in pixels: models with vision
	// reduce larger ones to about this size. 1568 is the limit that Anthropic's
	// vision guide gives; an A4 page gets about 134 dots per inch.
	ImageSize = 1568
)

// pdfReading is a PDF that is being read.
type pdfReading struct {
	*reading
	file   *pdfium.Document
	texts  pageTexts
	out    *Document
	hasAny bool // a page has text
	images int
}

// readPDF reads the pages of a PDF one by one.
func (r *reading) readPDF() (*Document, error) {
	ctx := context.Background() // the process itself has a limit
	if r.engine == nil {
		return nil, errors.New("a PDF was given to a reader without the PDF engine")
	}
	file, err := r.engine.Open(ctx, r.data)
	switch {
	case errors.Is(err, pdfium.ErrPassword):
		return nil, refuse("The PDF is protected by a password. Save it without one, then try again.")
	case errors.Is(err, pdfium.ErrSecurity):
		return nil, refuse("The PDF is encrypted in a way that is not supported. Save it without encryption, then try again.")
	case err != nil:
		return nil, damagedPDF
	}
	p := &pdfReading{reading: r, file: file, out: &Document{Format: "pdf"}}
	if err := p.readPages(ctx); err != nil {
		return nil, err
	}
	p.out.Text, p.out.PageStarts = strings.TrimSpace(p.texts.String()), p.texts.pageStarts()
	return p.out, nil
}

// damagedPDF is the message for any failure of the PDF engine. The engine's own messages
// name its functions, which mean nothing to users.
var damagedPDF = refuse("The PDF is damaged and could not be read. Save it again with another program.")

// readPages reads the chosen pages and skips damaged ones. If the engine fails, which is
// permanent, the result is the pages read so far: part of a document is more useful to a
// flow than an error.
func (p *pdfReading) readPages(ctx context.Context) error {
	count, err := p.file.Pages(ctx)
	if err != nil || count < 1 {
		return damagedPDF
	}
	p.out.Pages = count
	if p.out.Title, err = p.file.Title(ctx); err != nil {
		return damagedPDF
	}
	numbers, truncated, err := p.choosePages(count, "page")
	if err != nil {
		return err
	}
	p.out.Truncated = truncated
	read := 0
	nothing := damagedPDF
	for _, n := range numbers {
		err := p.readPage(ctx, n)
		switch {
		case errors.Is(err, pdfium.ErrDamaged):
			p.out.Truncated = true
			continue
		case errors.Is(err, errDraw):
			return err
		case err != nil: // the engine gave up, so that it can read no further page
			p.out.Truncated = true
			nothing = errGaveUp
		default:
			read++
		}
		if p.texts.full() {
			p.out.Truncated = true
		}
		if err != nil || p.texts.full() {
			break
		}
	}
	switch {
	case read == 0:
		return nothing
	case !p.hasAny && !p.Images:
		return refuse("The PDF has no text inside: it may be scanned, which makes pages pictures. Turn on Page images and connect them to a model with vision, or use an OCR model.")
	}
	return nil
}

// errDraw is returned when an image cannot be sent to the parent.
var errDraw = errors.New("send an image")

// readPage adds the text of page n, counted from 1, and sends its image. The image
// comes first, because Page.Text changes the page. A page with a picture but without text is
// mentioned in the text, so that a model does not assume that it is blank.
func (p *pdfReading) readPage(ctx context.Context, n int) error {
	p.texts.begin(n)
	page, err := p.file.Page(ctx, n-1)
	if err != nil {
		return err
	}
	if p.Images {
		if err := p.drawPage(ctx, page, n); err != nil {
			return err
		}
	}
	text, err := page.Text(ctx)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) != "" {
		p.hasAny = true
		p.texts.add(text)
	} else if picture, err := page.HasPicture(ctx); err != nil {
		return err
	} else if picture {
		p.texts.add(fmt.Sprintf("[Page %d has no text, only a picture.]", n))
	}
	return page.Close(ctx)
}

// drawPage sends the image of a page, unless there are MaxImages already or it is
// too large.
func (p *pdfReading) drawPage(ctx context.Context, page *pdfium.Page, n int) error {
	if p.images == MaxImages {
		p.out.Truncated = true
		return nil
	}
	picture, err := page.Picture(ctx, ImageSize)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, picture); err != nil || b.Len() > maxImage {
		p.out.Truncated = true
		return nil
	}
	p.images++
	if err := p.draw(Image{Page: n, PNG: b.Bytes()}); err != nil {
		return fmt.Errorf("%w: %w", errDraw, err)
	}
	return nil
}

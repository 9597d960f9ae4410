package pdfium

import (
	"context"
	"fmt"
	"image"

	"github.com/tetratelabs/wazero/api"
)

// Flags of FPDF_RenderPageBitmap.
const (
	drawAnnotations  = 0x01
	reverseByteOrder = 0x10 // red first
)

// Picture draws the page on white, with annotations and form fields. longer is the length of
// the longer side in pixels. A page without an area is ErrDamaged. The bitmap
// takes four bytes for each pixel in the memory of the module.
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

// pixels copies a bitmap out of the module. A row takes stride bytes, which may be
// more than its pixels. The bitmap was created without an alpha channel, so its
// fourth byte is undefined, while image.RGBA takes it for the opacity.
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

package e2e

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"slices"
)

// paletteSize is how many colors a PNG with a palette can have.
const paletteSize = 256

// shrink replaces a PNG by the part within a rectangle, with a palette of its most frequent colors. A
// picture of a page has few colors and the shades of its letters, so nothing
// visible is lost, and the file is a third of the size.
func shrink(path string, part image.Rectangle) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	full, err := png.Decode(f)
	if err := f.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	part = part.Intersect(full.Bounds())
	small := image.NewPaletted(image.Rectangle{Max: part.Size()}, frequent(full, part))
	draw.Draw(small, small.Bounds(), full, part.Min, draw.Src)
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small); err != nil {
		return err
	}
	return out.Close()
}

// frequent returns the most frequent colors of a part of an image, at most paletteSize.
// Colors that differ by less than 4 of 255 in each channel count as one.
func frequent(full image.Image, b image.Rectangle) color.Palette {
	const step = 4
	count, first := map[[3]uint8]int{}, map[[3]uint8]color.RGBA{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)
			k := [3]uint8{c.R / step, c.G / step, c.B / step}
			if count[k]++; count[k] == 1 {
				first[k] = c
			}
		}
	}
	keys := make([][3]uint8, 0, len(count))
	for k := range count {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [3]uint8) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return slices.Compare(a[:], b[:])
	})
	var p color.Palette
	for _, k := range keys[:min(len(keys), paletteSize)] {
		p = append(p, first[k])
	}
	return p
}

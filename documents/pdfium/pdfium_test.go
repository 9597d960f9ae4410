package pdfium_test

import (
	"context"
	"os"
	"testing"
	"time"

	"sluice/documents/pdfium"
)

func TestTry(t *testing.T) {
	ctx := context.Background()
	dir := "/tmp/pdfgo/cache2"
	for range 2 {
		begun := time.Now()
		e, err := pdfium.New(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Log("engine", time.Since(begun))
		data, err := os.ReadFile(os.Getenv("PDF"))
		if err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		d, err := e.Open(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		n, err := d.Pages(ctx)
		t.Log(n, err)
		for i := range min(n, 3) {
			begun := time.Now()
			p, err := d.Page(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			s, err := p.Text(ctx)
			t.Logf("%d %v %.300q %s", i, err, s, time.Since(begun))
			begun = time.Now()
			pic, err := p.Picture(ctx, 1500)
			t.Log(err, pic.Bounds(), time.Since(begun))
			p.Close(ctx)
		}
		title, err := d.Title(ctx)
		t.Log(title, err, time.Since(begun))
		e.Close(ctx)
	}
}

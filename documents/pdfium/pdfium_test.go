package pdfium_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sluice/documents/pdfium"
)

// cacheDir holds the compiled module for all tests of this package.
var cacheDir = sync.OnceValues(func() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "sluice-test", "pdfium-"+pdfium.Version())
	return dir, pdfium.Prepare(context.Background(), dir)
})

func newEngine(t *testing.T) *pdfium.Engine {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	e, err := pdfium.New(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(t.Context()) })
	return e
}

// TestText reads samples in which text is easily lost.
func TestText(t *testing.T) {
	t.Parallel()
	dir := samples(t)
	for _, test := range []struct {
		name, file string
		want       []string // and no character that could not be read
	}{
		{"filled form", "pkg/samples/form/multifill/csv/person_19.pdf", []string{
			"First Name: Dmitry\nLast Name: Muratov", "is dob verified?: checked", "Gender: male", "Status: alive", "License: CC BY-SA 3.0 de"}},
		{"text box without an appearance", "pkg/samples/annotations/FreeTextAnnotation.pdf", []string{"Mac Preview shows \"Contents\"\nline 2\nline 3"}},
		{"letters placed one by one", "pkg/testdata/TheGoProgrammingLanguageCh1.pdf", []string{"7.6. Sorting with sort.Interface\t186", "8.6. Example: Concurrent Web Crawler\t239"}},
		{"Japanese form", "pkg/samples/form/demo/japanese.pdf", []string{"苗字: ドウ", "街: 東京"}},
		{"Arabic form", "pkg/samples/form/fill/arabic.pdf", []string{"الاسم الاول: عائشة", "جنس: أنثى"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text, err := readFile(t.Context(), newEngine(t), filepath.Join(dir, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(text, utf8.RuneError) {
				t.Errorf("the text has characters that could not be read:\n%s", text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("the text has no %q:\n%s", want, text)
				}
			}
		})
	}
}

package pdfium_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"sluice/documents/pdfium"
	"sluice/e2e/need"
)

// samplesModule ships some 500 PDF files: forms, annotations, damaged files,
// right-to-left scripts, every PDF version.
const samplesModule = "github.com/pdfcpu/pdfcpu@v0.15.0"

// wordsFile holds what pdftotext of Poppler 22.12 finds in the first 20 pages of
// each sample: how often each word occurs.
const wordsFile = "testdata/pdftotext.json.gz"

var updateWords = flag.Bool("update-words", false, "write "+wordsFile+"; needs pdftotext")

const maxSamplePages = 20

// samples returns the directory of the samples.
func samples(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", samplesModule)
	cmd.Dir = t.TempDir() // outside of this module, which does not depend on it
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GO111MODULE=on")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	_ = json.Unmarshal(out, &module)
	need.Tool(t, "the sample PDFs cannot be downloaded as a Go module", err == nil && module.Dir != "")
	return module.Dir
}

// sampleFiles returns the paths of all samples below a directory.
func sampleFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.EqualFold(filepath.Ext(path), ".pdf") {
			name, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// countWords returns how often each word occurs, in lower case and compatibility
// form, so that a ligature equals its letters.
func countWords(text string) map[string]int {
	words := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(norm.NFKC.String(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		words[w]++
	}
	return words
}

// recall returns the part of the wanted words that were found.
func recall(found, wanted map[string]int) float64 {
	all, have := 0, 0
	for w, n := range wanted {
		all += n
		have += min(n, found[w])
	}
	return float64(have) / float64(all)
}

// TestSamples reads every sample. On average at least 96 % of the words that
// pdftotext finds must be found.
//
// The worst ones are those where letters run in many directions, where pdftotext
// finds fragments, and a few fonts made by pdfcpu whose character maps PDFium
// reads differently.
func TestSamples(t *testing.T) {
	t.Parallel()
	need.Time(t)
	dir := samples(t)
	files := sampleFiles(t, dir)
	if *updateWords {
		writeWords(t, dir, files)
	}
	wanted := readWords(t)
	found := readSamples(t, dir, files)
	total, n := 0.0, 0
	for _, file := range files {
		if len(wanted[file]) == 0 {
			continue
		}
		r := recall(found[file], wanted[file])
		if total, n = total+r, n+1; r < 0.9 {
			t.Logf("%.3f of %d words: %s", r, len(wanted[file]), file)
		}
	}
	if n < 450 {
		t.Errorf("only %d samples have words, want 450", n)
	}
	if mean := total / float64(n); mean < 0.96 {
		t.Errorf("mean word recall is %.4f over %d files, want 0.96", mean, n)
	} else {
		t.Logf("mean word recall %.4f over %d files", mean, n)
	}
}

// readSamples reads the files in two engines. Every error but the documented
// ones fails the test.
func readSamples(t *testing.T, dir string, files []string) map[string]map[string]int {
	var mu sync.Mutex
	found := map[string]map[string]int{}
	var group sync.WaitGroup
	for half := range 2 {
		group.Go(func() {
			e := newEngine(t)
			for i := half; i < len(files); i += 2 {
				text, err := readFile(t.Context(), e, filepath.Join(dir, files[i]))
				if err != nil && !errors.Is(err, pdfium.ErrDamaged) && !errors.Is(err, pdfium.ErrPassword) && !errors.Is(err, pdfium.ErrSecurity) {
					t.Errorf("%s: %v", files[i], err)
				}
				mu.Lock()
				found[files[i]] = countWords(text)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return found
}

func readFile(ctx context.Context, e *pdfium.Engine, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return readText(ctx, e, data)
}

// readText returns the texts of the first pages.
func readText(ctx context.Context, e *pdfium.Engine, data []byte) (text string, err error) {
	d, err := e.Open(ctx, data)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close(ctx)) }()
	count, err := d.Pages(ctx)
	if err != nil {
		return "", err
	}
	for n := range min(count, maxSamplePages) {
		p, err := d.Page(ctx, n)
		if err != nil {
			return text, err
		}
		s, err := p.Text(ctx)
		if err := errors.Join(err, p.Close(ctx)); err != nil {
			return text, err
		}
		text += s + "\n"
	}
	return text, nil
}

func readWords(t *testing.T) (words map[string]map[string]int) {
	t.Helper()
	f, err := os.Open(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(&words); err != nil {
		t.Fatal(err)
	}
	return words
}

func writeWords(t *testing.T, dir string, files []string) {
	t.Helper()
	words := map[string]map[string]int{}
	for _, file := range files {
		out, _ := exec.Command("pdftotext", "-q", "-l", "20", "-enc", "UTF-8", filepath.Join(dir, file), "-").Output()
		if w := countWords(string(out)); len(w) > 0 {
			words[file] = w
		}
	}
	f, err := os.Create(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err := errors.Join(json.NewEncoder(w).Encode(words), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files with words of %d", len(slices.Collect(maps.Keys(words))), len(files))
}

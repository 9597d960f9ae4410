package pdfium_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"sluice/documents/pdfium"
)

func words(s string) map[string]int {
	m := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(norm.NFKC.String(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		m[w]++
	}
	return m
}

func TestRecall(t *testing.T) {
	ctx := context.Background()
	e, err := pdfium.New(ctx, "/tmp/pdfgo/cache2")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	filepath.WalkDir(os.Getenv("PDFS"), func(p string, d os.DirEntry, err error) error {
		if strings.HasSuffix(strings.ToLower(p), ".pdf") {
			files = append(files, p)
		}
		return nil
	})
	type res struct {
		f string
		r float64
		n int
	}
	var all []res
	var slow time.Duration
	for _, f := range files {
		cmd := exec.Command("/tmp/poppler/root/usr/bin/pdftotext", "-l", "20", "-enc", "UTF-8", f, "-")
		cmd.Env = []string{"LD_LIBRARY_PATH=/tmp/poppler/root/usr/lib/x86_64-linux-gnu"}
		out, _ := cmd.Output()
		ref := words(string(out))
		data, _ := os.ReadFile(f)
		begun := time.Now()
		d, err := e.Open(ctx, data)
		if err != nil {
			if len(ref) > 0 {
				t.Log(f, err, len(ref))
			}
			continue
		}
		n, _ := d.Pages(ctx)
		var b strings.Builder
		for i := range min(n, 20) {
			p, err := d.Page(ctx, i)
			if err != nil {
				t.Log(f, i, err)
				continue
			}
			s, err := p.Text(ctx)
			if err != nil {
				t.Log(f, i, err)
			}
			b.WriteString(s + "\n")
			p.Close(ctx)
		}
		d.Close(ctx)
		if took := time.Since(begun); took > slow {
			slow = took
			t.Log("slowest", f, took)
		}
		got := words(b.String())
		have, want := 0, 0
		for w, n := range ref {
			want += n
			have += min(n, got[w])
		}
		if want == 0 {
			continue
		}
		all = append(all, res{f, float64(have) / float64(want), want})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].r < all[j].r })
	sum := 0.0
	below := 0
	for i, r := range all {
		sum += r.r
		if r.r < 0.9 {
			below++
		}
		if i < 40 {
			t.Logf("%.3f %d %s", r.r, r.n, strings.TrimPrefix(r.f, os.Getenv("PDFS")))
		}
	}
	t.Logf("mean %.4f over %d files, %d below 0.9", sum/float64(len(all)), len(all), below)
}

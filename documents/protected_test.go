package documents

import (
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// passwordPadding completes passwords, by the PDF specification (7.6.4.3).
const passwordPadding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

// encryptedPDF is a PDF that may not be printed or copied, and that a password
// opens; by the oldest method of the specification, RC4 with 40 bits.
func encryptedPDF(t *testing.T, password, content string) string {
	t.Helper()
	const id, permissions = "0123456789abcdef", -64
	owner := strings.Repeat("o", 32)
	sum := md5.New()
	sum.Write([]byte((password + passwordPadding)[:32] + owner))
	sum.Write(binary.LittleEndian.AppendUint32(nil, uint32(0x1_0000_0000+permissions)))
	sum.Write([]byte(id))
	key := sum.Sum(nil)[:5]
	crypt := func(key []byte, s string) string {
		c, err := rc4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, len(s))
		c.XORKeyStream(out, []byte(s))
		return string(out)
	}
	const contentObject = 5
	streamKey := md5.Sum(append(key[:5:5], contentObject, 0, 0, 0, 0))
	file := minimalPDF(crypt(streamKey[:10], content))
	return strings.Replace(file, "/Root 1 0 R >>\nstartxref", fmt.Sprintf("/Root 1 0 R /ID [<%x> <%x>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <%x> /U <%x> /P %d >> >>\nstartxref",
		id, id, owner, crypt(key, passwordPadding), permissions), 1)
}

// TestProtected proves that a PDF that is only restricted, as many statements and
// forms are, is read, while one that needs a password says so.
func TestProtected(t *testing.T) {
	t.Parallel()
	const content = "BT /F 12 Tf 72 700 Td (not secret) Tj ET"
	t.Run("only against printing and copying", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, encryptedPDF(t, "", content))
		if err != nil || got.Text != "not secret" {
			t.Errorf("got %v, %+v", err, got)
		}
	})
	t.Run("by a password", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{}, encryptedPDF(t, "open sesame", content))
		has(t, refusal(t, err), "protected by a password")
	})
	t.Run("by an unknown method", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{}, strings.Replace(encryptedPDF(t, "", content), "/Filter /Standard", "/Filter /Unknown", 1))
		has(t, refusal(t, err), "not supported")
	})
}

// TestScanned reads a PDF with pictures of text.
func TestScanned(t *testing.T) {
	t.Parallel()
	const picture = "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /CS /RGB /BPC 8 ID abc\nEI Q"
	two := func(first, second string) string {
		return pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 4 0 R 3 0 R] /Count 3 >>",
			"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 7 0 R >> >> >>",
			"<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>", pdfStream("", first), pdfStream("", second),
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	}
	t.Run("says which page has no text", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, two("BT /F 12 Tf 72 700 Td (text) Tj ET", picture))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text", got.Text, "text\n\n[Page 2 has no text, only a picture.]\n\ntext")
	})
	t.Run("says nothing of a blank page", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, two("BT /F 12 Tf 72 700 Td (text) Tj ET", ""))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text", got.Text, "text\n\ntext")
	})
	t.Run("is refused without any text", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{}, two("", picture))
		has(t, refusal(t, err), "Turn on Page images")
	})
	t.Run("gives images", func(t *testing.T) {
		t.Parallel()
		var pages []int
		got, err := shared().Read(t.Context(), "default", Request{Images: true, Pages: "2-3"}, strings.NewReader(two("", picture)), func(i Image) error {
			pages = append(pages, i.Page)
			if !strings.HasPrefix(string(i.PNG), "\x89PNG") {
				t.Errorf("page %d is no PNG", i.Page)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "images", []any{pages, got.Text, got.Pages}, []any{[]int{2, 3}, "[Page 2 has no text, only a picture.]", 3})
	})
}

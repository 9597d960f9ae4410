package outbound

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"sluice/flow/wording"
)

const (
	// maxCodings is the maximum number of content codings of one response. Each one can
	// multiply the work that a byte on the wire causes.
	maxCodings = 4
	// maxWindow is the largest window of zstd in bytes, which is what HTTP allows
	// (RFC 9659). Brotli has windows of at most 16 MiB.
	maxWindow = 8 << 20
	// maxCodingShown is the number of bytes of an unknown coding that an error quotes.
	maxCodingShown = 40
)

// openCoding returns a reader of the decoded bytes.
type openCoding func(*bufio.Reader) (io.ReadCloser, error)

// codings are the content codings that responses may have (RFC 9110, section 8.4.1, RFC 7932
// and RFC 8878). Names are not case-sensitive.
var codings = map[string]openCoding{
	"gzip":    openGzip,
	"x-gzip":  openGzip, // the same (RFC 9110, section 8.4.1.3)
	"deflate": openDeflate,
	"br":      func(r *bufio.Reader) (io.ReadCloser, error) { return io.NopCloser(brotli.NewReader(r)), nil },
	"zstd":    openZstd,
}

func openGzip(r *bufio.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

// openDeflate reads the zlib format, or raw deflate, which some servers send by mistake. The
// first two bytes of zlib are a multiple of 31 and name the method 8 (RFC 1950), which no
// encoder of raw deflate writes.
func openDeflate(r *bufio.Reader) (io.ReadCloser, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// openZstd decodes in the goroutine of the reader.
func openZstd(r *bufio.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// contentCodings returns the codings of a body in the order in which they were applied.
func contentCodings(header http.Header) (list []string) {
	for name := range strings.SplitSeq(strings.Join(header["Content-Encoding"], ","), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "" && name != "identity" {
			list = append(list, name)
		}
	}
	return list
}

// decode replaces the body of a response by one without its content codings, of at most limit
// bytes. Like net/http, it removes the headers that describe the encoded body. Nothing is
// read yet, so an unknown coding is an error of the first read. The response to a HEAD
// request describes a body that is not sent and stays unchanged.
func decode(resp *http.Response, method string, limit int64) {
	names := contentCodings(resp.Header)
	if len(names) == 0 || method == http.MethodHead || resp.Body == http.NoBody {
		return
	}
	host := resp.Request.URL.Hostname()
	for i := len(names) - 1; i >= 0; i-- { // the last one was applied last
		open, known := codings[names[i]]
		if !known || len(names) > maxCodings {
			resp.Body = failing{resp.Body, unknownCoding(host, resp.StatusCode, names)}
			break
		}
		// The input is limited too: that of a second decoder can expand like its output.
		encoded := &wire{ReadCloser: resp.Body, host: host, limit: limit, left: encodedLimit(limit)}
		resp.Body = &decoder{source: encoded, name: names[i], host: host, open: open}
	}
	resp.ContentLength, resp.Uncompressed = -1, true
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
}

// encodedLimit returns the maximum size of an encoded body, in bytes. Encoded data is hardly
// larger than its content unless it is made to cost time: it can have any number of blocks
// without content.
func encodedLimit(limit int64) int64 { return 2*limit + 1<<20 }

// wire limits the encoded bytes that a decoder reads and remembers the first error, to
// distinguish a broken connection from invalid data.
type wire struct {
	io.ReadCloser
	host        string
	limit, left int64
	err         error
}

// Read returns an error when more than the limit arrives.
func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.ReadCloser.Read(p)
	if w.left -= int64(n); w.left < 0 {
		n, err = 0, tooLarge(w.host, w.limit)
	}
	w.err = err
	return n, err
}

// decoder removes one coding. It opens the coding at the first read, which reads its header.
type decoder struct {
	source  *wire
	name    string
	host    string
	open    openCoding
	content io.ReadCloser
	err     error
}

// Read returns io.EOF for an empty source, whose coding does not matter.
func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.content == nil {
		r := bufio.NewReaderSize(d.source, 4<<10)
		if _, d.err = r.Peek(1); d.err != nil {
			return 0, d.err
		}
		content, err := d.open(r)
		if err == io.EOF { // in the middle of the header
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			d.err = d.invalid(err)
			return 0, d.err
		}
		d.content = content
	}
	n, err := d.content.Read(p)
	if err != nil {
		d.err = d.invalid(err)
	}
	return n, d.err
}

// invalid returns the error for data that cannot be decoded. The end of the data is no such
// error, and neither is one of the source.
func (d *decoder) invalid(err error) error {
	if d.source.err != nil && d.source.err != io.EOF {
		return d.source.err
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return err
	}
	return &Error{Class: ClassEncoding, Message: fmt.Sprintf("The answer of %s is not valid %s, although its Content-Encoding says so (%v).", d.host, d.name, err), cause: err}
}

// Close releases the decoder and closes the source.
func (d *decoder) Close() error {
	if d.content != nil {
		_ = d.content.Close() // what it read is known to be complete, or an error was returned
	}
	return d.source.Close()
}

// failing returns an error instead of its content.
type failing struct {
	io.ReadCloser
	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// unknownCoding returns the error for codings that cannot be decoded. The status decides
// whether a retry could help.
func unknownCoding(host string, status int, names []string) *Error {
	shown := strings.ToValidUTF8(strings.Join(names, ", "), "")
	if len(shown) > maxCodingShown {
		shown = wording.CutBytes(shown, maxCodingShown) + "…"
	}
	return &Error{
		Class:     ClassEncoding,
		Message:   fmt.Sprintf("The answer of %s (status %d) has the Content-Encoding %q, which cannot be decoded. Supported are gzip, deflate, br and zstd.", host, status, shown),
		retryable: status == http.StatusTooManyRequests || status >= 500,
	}
}

package web

import (
	"bytes"
	"compress/gzip"

	"sluice/static"
)

// minGzip is the size, in bytes, below which a page fits in one packet anyway.
const minGzip = 1400

// gzip compresses a page if the browser accepts that. The editor page of a flow with
// 500 nodes is over a megabyte, and compresses to a thirtieth.
func (c *Call) gzip(body []byte) []byte {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < minGzip || !static.AcceptsGzip(c.Request().Header.Get("Accept-Encoding")) {
		return body
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only for unknown levels
	_, _ = w.Write(body)                            // to memory, which does not fail
	if w.Close() != nil {
		return body
	}
	h.Set("Content-Encoding", "gzip")
	return b.Bytes()
}

package web

import (
	"bytes"
	"compress/gzip"

	"sluice/static"
)

// minGzip is how large a page is before packing it saves a packet.
const minGzip = 1400

// gzip makes a page smaller for a browser that takes it so: that of a flow with
// 500 nodes has over a megabyte, a thirtieth of it packed.
func (c *Call) gzip(body []byte) []byte {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < minGzip || !static.TakesGzip(c.Request().Header.Get("Accept-Encoding")) {
		return body
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails for unknown levels alone
	_, _ = w.Write(body)                            // to memory
	if w.Close() != nil {
		return body
	}
	h.Set("Content-Encoding", "gzip")
	return b.Bytes()
}

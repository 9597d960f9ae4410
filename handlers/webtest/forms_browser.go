package webtest

import (
	"context"

	"github.com/chromedp/chromedp"
)

// Eventually waits until an expression is true, on this page or the next one. Errors during
// navigation are ignored.
func (p *Tab) Eventually(js string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, BrowserPatience)
	defer cancel()
	for ctx.Err() == nil {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")")); err == nil && ok {
			return
		}
	}
	p.T.Fatalf("waited for %s", js)
}

package webtest

import (
	"context"

	"github.com/chromedp/chromedp"
)

// Arrives waits for a condition of a page that may be the next one: what is asked
// while pages change is asked again.
func (p *Tab) Arrives(js string) {
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

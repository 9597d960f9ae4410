package docs

import (
	"fmt"
	"strings"
)

// Fill replaces the generated part of a page: the text between
// <!-- generated name … --> and <!-- end -->.
func Fill(page, name, text string) (string, error) {
	mark := "<!-- generated " + name
	at := strings.Index(page, mark)
	if at < 0 {
		return "", fmt.Errorf("the page has no %s -->", mark)
	}
	from := at + strings.Index(page[at:], "-->") + len("-->")
	length := strings.Index(page[from:], "<!-- end -->")
	if length < 0 {
		return "", fmt.Errorf("the part that starts with %s --> has no <!-- end -->", mark)
	}
	return page[:from] + "\n\n" + strings.Trim(text, "\n") + "\n\n" + page[from+length:], nil
}

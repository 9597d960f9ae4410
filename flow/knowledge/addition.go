package knowledge

import (
	"fmt"

	"sluice/flow"
)

// Addition is a document that is to be added: a file, a URL or a text.
type Addition struct {
	Spec
	File, URL, Text string
}

// Check returns an error with the problem of an addition to a base.
func (a *Addition) Check(b *Base) error {
	given := 0
	for _, s := range []string{a.File, a.URL, a.Text} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return invalidAddition("/file", "required", "give exactly one of file, url and text")
	case a.Text != "" && a.Source == "":
		return invalidAddition("/source", "required", "a text needs a source, which identifies the document")
	case len(a.Text) > MaxText:
		return invalidAddition("/text", "too_long", fmt.Sprintf("wanted at most %d MiB", MaxText>>20))
	}
	for pointer, text := range map[string]string{"/source": a.Source, "/title": a.Title, "/link": a.Link} {
		if len(text) > MaxSource {
			return invalidAddition(pointer, "too_long", fmt.Sprintf("wanted at most %d bytes", MaxSource))
		}
	}
	if err := b.CheckPart(a.Part); err != nil {
		return err
	}
	return CheckMetadata(a.Metadata)
}

func invalidAddition(pointer, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid document: " + detail + ".", Fields: []flow.Problem{{Pointer: pointer, Code: code, Detail: detail}}}
}

package docs

import (
	"bytes"
	"embed"
	"image/png"
	"regexp"

	"github.com/yuin/goldmark/ast"
)

// pictures are the screenshots of the pages. "make screenshots" takes them.
//
//go:embed images/steps/*.png
var pictures embed.FS

// pictureLink matches the target of a picture: a path relative to the page, so
// that code hosts, the server and readers of the Markdown all resolve it.
var pictureLink = regexp.MustCompile(`^images/steps/[a-z0-9-]+\.png$`)

// PictureFile returns the PNG with a file name, such as "connect.png", and
// whether it exists.
func PictureFile(name string) ([]byte, bool) {
	data, err := pictures.ReadFile("images/steps/" + name)
	return data, err == nil
}

// picture converts an image. Its size is read from the file, so that a browser
// can reserve the space before the file has arrived.
func (r *reader) picture(n *ast.Image) Block {
	to := string(n.Destination)
	b := Block{Type: Picture, Source: "/docs/" + to, Alt: plain(r.spans(n))}
	if !pictureLink.MatchString(to) {
		r.fault("the picture %q is not images/steps/name.png", to)
		return b
	}
	if b.Alt == "" {
		r.fault("the picture %q has no alt text", to)
	}
	data, err := pictures.ReadFile(to)
	if err != nil {
		r.fault("there is no picture %q; run make screenshots", to)
		return b
	}
	size, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		r.fault("the picture %q: %v", to, err)
	}
	b.Width, b.Height = size.Width, size.Height
	return b
}

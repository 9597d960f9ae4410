package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// interTagSpace is the white space between elements, which sprites do without.
var interTagSpace = regexp.MustCompile(`>\s+<`)

// sprite returns an SVG with one <symbol> for each icon listed in src/icons.txt.
func sprite(root string) ([]byte, error) {
	list, err := os.ReadFile(filepath.Join(root, "src/icons.txt"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">` + "\n")
	for line := range strings.Lines(string(list)) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		inner, err := icon(filepath.Join(root, "node_modules/lucide-static/icons", name+".svg"))
		if err != nil {
			return nil, fmt.Errorf("icon %q: %w", name, err)
		}
		fmt.Fprintf(&out, `<symbol id="%s" viewBox="0 0 24 24">%s</symbol>`+"\n", name, inner)
	}
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// icon returns the inner XML of a Lucide icon. Its size, color and stroke come from
// CSS, so the attributes of <svg> are dropped.
func icon(path string) (string, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var svg struct {
		Inner string `xml:",innerxml"`
	}
	if err := xml.Unmarshal(file, &svg); err != nil {
		return "", err
	}
	return interTagSpace.ReplaceAllString(strings.TrimSpace(svg.Inner), "><"), nil
}

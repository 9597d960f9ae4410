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

var between = regexp.MustCompile(`>\s+<`)

// sprite returns one SVG with a symbol for each icon that src/icons.txt lists.
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

// icon returns the shapes of an icon. Size, color and stroke come from CSS.
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
	return between.ReplaceAllString(strings.TrimSpace(svg.Inner), "><"), nil
}

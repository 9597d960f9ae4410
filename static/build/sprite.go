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

// sprite puts the icons that src/icons.txt names into one file of symbols.
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

// icon reads the shapes of one icon; size, colour and stroke are the page's.
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

package aiflow

import (
	"regexp"
	"strings"

	"sluice/flow"
)

// AI-Flow's text tools are written in Python. Their settings are taken over so that the
// nodes give what str.split, str.replace and re.sub of Python give.

// isOn reads a switch, which files have as a boolean or as a text.
func isOn(v any) bool {
	s := strings.ToLower(flow.Text(v))
	return s == "true" || s == "1" || s == "yes" || s == "on"
}

// pythonGroup is a reference to a group in a replacement of Python, such as \1 or \g<name>.
var pythonGroup = regexp.MustCompile(`\\\\|\\(\d{1,2})|\\g<(\w+)>`)

// replacePython takes over the switches of a replacement and the form of its groups.
func replacePython(b *builder) {
	if all := b.take("replace_all"); all != nil && !isOn(all) {
		b.n.Config["first_only"] = true
	}
	if !isOn(b.take("use_regex")) {
		return
	}
	b.n.Config["regex"] = true
	with, _ := b.n.Config["replacement"].(string)
	b.n.Config["replacement"] = pythonGroup.ReplaceAllStringFunc(strings.ReplaceAll(with, "$", "$$"), func(ref string) string {
		m := pythonGroup.FindStringSubmatch(ref)
		if ref == `\\` {
			return `\`
		}
		return "${" + m[1] + m[2] + "}"
	})
}

// splitsByModel reports whether a model splits the text, for which there is no node.
func splitsByModel(s *source) bool {
	mode := strings.ToLower(flow.Text(s.values["mode"]))
	return mode != "" && mode != "manual"
}

// splitPython keeps everything between separators, as str.split does, and gives a port to
// each item.
func splitPython(b *builder) {
	b.n.Config["by"], b.n.Config["trim"], b.n.Config["keep_empty"] = "separator", false, true
	if b.n.Config["separator"] == nil {
		separator := flow.Text(b.take("separator"))
		if separator == "" {
			separator = ";"
		}
		b.n.Config["separator"] = separator
	}
	b.take("mode")
	ports := 1.0
	if n, err := flow.Coerce(b.take("nb_output"), flow.TypeNumber); err == nil {
		if size, ok := flow.Float(n); ok {
			ports = max(1, min(50, size))
		}
	}
	b.n.Config["ports"] = flow.Number(ports)
}

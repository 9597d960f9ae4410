package aiflow

import (
	"regexp"
	"strings"

	"sluice/flow"
)

// AI-Flow's text tools are written in Python. The conversion keeps the results of Python's
// str.split, str.replace and re.sub.

// isOn reads a switch, which files store as a boolean or as a text.
func isOn(v any) bool {
	s := strings.ToLower(flow.Text(v))
	return s == "true" || s == "1" || s == "yes" || s == "on"
}

// pythonGroup matches a group reference in a Python replacement, such as \1 or \g<name>,
// and an escaped backslash.
var pythonGroup = regexp.MustCompile(`\\\\|\\(\d{1,2})|\\g<(\w+)>`)

// replacePython converts the switches of a replacement, and its group references to Go's
// syntax.
func replacePython(b *builder) {
	if all := b.takeSetting("replace_all"); all != nil && !isOn(all) {
		b.n.Config["first_only"] = true
	}
	if !isOn(b.takeSetting("use_regex")) {
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

// splitsByModel reports whether a model splits the text. Sluice has no such node.
func splitsByModel(s *source) bool {
	mode := strings.ToLower(flow.Text(s.values["mode"]))
	return mode != "" && mode != "manual"
}

// splitPython keeps empty items and white space, as str.split does, and copies the number
// of output ports, within 1 to 50.
func splitPython(b *builder) {
	b.n.Config["by"], b.n.Config["trim"], b.n.Config["keep_empty"] = "separator", false, true
	if b.n.Config["separator"] == nil {
		separator := flow.Text(b.takeSetting("separator"))
		if separator == "" {
			separator = ";"
		}
		b.n.Config["separator"] = separator
	}
	b.takeSetting("mode")
	ports := 1.0
	if n, err := flow.Coerce(b.takeSetting("nb_output"), flow.TypeNumber); err == nil {
		if size, ok := flow.Float(n); ok {
			ports = max(1, min(50, size))
		}
	}
	b.n.Config["ports"] = flow.Number(ports)
}

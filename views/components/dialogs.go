package components

import "github.com/a-h/templ"

// OpenDialog returns the attributes of a button that opens a dialog.
func OpenDialog(dialog string) templ.Attributes {
	return templ.Attributes{"commandfor": dialog, "command": "show-modal"}
}

package hosted

// Widget is the control with which a field is edited.
type Widget string

// The widgets.
const (
	WidgetText     Widget = "text"
	WidgetTextarea Widget = "textarea"
	WidgetNumber   Widget = "number"
	WidgetInteger  Widget = "integer"
	WidgetSlider   Widget = "slider" // a number or integer with both bounds
	WidgetSwitch   Widget = "switch"
	WidgetSelect   Widget = "select"
	WidgetFile     Widget = "file"   // a file, a URL or an edge
	WidgetFiles    Widget = "files"  // a list of files or URLs
	WidgetList     Widget = "list"   // a list of scalars
	WidgetSecret   Widget = "secret" // a credential
	WidgetJSON     Widget = "json"   // anything else, checked by its schema
)

// Field is an input of a model in a form.
type Field struct {
	Name        string
	Title       string
	Description string
	Widget      Widget
	Whole       bool  // of number, slider and select: whole numbers only
	Options     []any // of a select, with the values' own types
	Min, Max    *float64
	MaxItems    *int
	Default     any // nil without a default
	Required    bool
	More        bool           // shown under "More"
	Schema      map[string]any // with all references resolved
}

// OutputType is the type of a model's output.
type OutputType string

// The types of output.
const (
	OutputText   OutputType = "text"  // one text, or pieces that make one (streamed)
	OutputFile   OutputType = "file"  // a URL of a file
	OutputFiles  OutputType = "files" // a list of URLs
	OutputList   OutputType = "list"  // a list of anything else
	OutputNumber OutputType = "number"
	OutputSwitch OutputType = "boolean"
	OutputObject OutputType = "object" // with Properties
	OutputJSON   OutputType = "json"   // anything else
)

// Output is the output of a model.
type Output struct {
	Type       OutputType
	Joined     bool       // pieces of text to be put together
	Properties []Property // of an object, in order
}

// Property is one property of an object output.
type Property struct {
	Name string
	Type OutputType
}

// Form is a model's schema, prepared for showing and for validating values.
type Form struct {
	Fields []Field
	Output Output
	// Open is set for a model without an input schema: it has no Fields and
	// accepts any inputs.
	Open bool
	// Incompatible is the reason why the model cannot be used, or empty.
	Incompatible string
	// Parts is the number of schemas, options and names in the form, a measure of its
	// size. There are at most 20,000.
	Parts int
}

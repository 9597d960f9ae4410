package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// schema is a JSON Schema, or any other JSON object of the OpenAPI document.
type schema = map[string]any

// schemas derives component schemas from Go types: names from json tags, descriptions
// from doc tags, and null for pointers.
type schemas struct {
	components schema
	names      map[reflect.Type]string // of types of extensions
}

// componentNames are the types with a component of their own; others are inlined.
var componentNames = map[reflect.Type]string{
	reflect.TypeFor[runObject]():            "Run",
	reflect.TypeFor[runList]():              "RunList",
	reflect.TypeFor[errorObject]():          "RunError",
	reflect.TypeFor[stepObject]():           "Step",
	reflect.TypeFor[stepList]():             "StepList",
	reflect.TypeFor[stepEvent]():            "StepEvent",
	reflect.TypeFor[deltaEvent]():           "DeltaEvent",
	reflect.TypeFor[progressEvent]():        "ProgressEvent",
	reflect.TypeFor[contract.OutputEvent](): "OutputEvent",
	reflect.TypeFor[flowObject]():           "Flow",
	reflect.TypeFor[flowList]():             "FlowList",
	reflect.TypeFor[draftObject]():          "Draft",
	reflect.TypeFor[validationObject]():     "Validation",
	reflect.TypeFor[diffObject]():           "Diff",
	reflect.TypeFor[contractChange]():       "ContractChange",
	reflect.TypeFor[versionList]():          "VersionList",
	reflect.TypeFor[publishedObject]():      "Published",
	reflect.TypeFor[appliedList]():          "Applied",
	reflect.TypeFor[deliveryObject]():       "Delivery",
	reflect.TypeFor[deliveryList]():         "DeliveryList",
	reflect.TypeFor[webhookList]():          "WebhookList",
	reflect.TypeFor[webhookObject]():        "Webhook",
	reflect.TypeFor[secretObject]():         "PreviousSecret",
	reflect.TypeFor[keySecret]():            "WebhookSecret",
	reflect.TypeFor[fileObject]():           "UploadedFile",
	reflect.TypeFor[approvalList]():         "ApprovalList",
	reflect.TypeFor[approvalObject]():       "Approval",
	reflect.TypeFor[approvalValue]():        "ApprovalValue",
	reflect.TypeFor[decisionObject]():       "ApprovalDecision",
	reflect.TypeFor[attemptObject]():        "DeliveryAttempt",
	reflect.TypeFor[problem]():              "Problem",
	reflect.TypeFor[problemField]():         "ProblemField",
	reflect.TypeFor[budgetObject]():         "Budget",
	reflect.TypeFor[quotaObject]():          "Quota",
	reflect.TypeFor[flow.Usage]():           "Usage",
	reflect.TypeFor[flow.Progress]():        "Progress",
}

// outcomes are how a question can end.
var outcomes = []flow.Outcome{flow.OutcomeApproved, flow.OutcomeRejected, flow.OutcomeExpired}

// leaves are types whose JSON does not follow from their Go kind.
var leaves = map[reflect.Type]schema{
	reflect.TypeFor[stamp]():              {"type": "string", "format": "date-time"},
	reflect.TypeFor[stampOrNull]():        {"type": []string{"string", "null"}, "format": "date-time"},
	reflect.TypeFor[json.RawMessage]():    {},
	reflect.TypeFor[flow.RunState]():      {"type": "string", "enum": runStates},
	reflect.TypeFor[json.Number]():        {"type": "number"},
	reflect.TypeFor[flow.StepState]():     {"type": "string", "enum": []flow.StepState{flow.StepPending, flow.StepRunning, flow.StepRetrying, flow.StepWaiting, flow.StepSucceeded, flow.StepReused, flow.StepSkipped, flow.StepFailed, flow.StepCanceled}},
	reflect.TypeFor[flow.Outcome]():       {"type": "string", "enum": outcomes},
	reflect.TypeFor[flow.Audience]():      {"type": "string", "enum": []flow.Audience{flow.AudienceLink, flow.AudienceMembers, flow.AudienceNamed}},
	reflect.TypeFor[flow.AnswererKind]():  {"type": "string", "enum": []flow.AnswererKind{flow.ByMember, flow.ByKey, flow.ByLink, ""}},
	reflect.TypeFor[approvalStatus]():     {"type": "string", "enum": append([]flow.Outcome{"open", "closed"}, outcomes...)},
	reflect.TypeFor[flow.Trigger]():       {"type": "string", "enum": []flow.Trigger{flow.TriggerAPI, flow.TriggerBuilder, flow.TriggerForm, flow.TriggerMCP, flow.TriggerCLI, flow.TriggerRerun, flow.TriggerFlow}},
	reflect.TypeFor[*flow.WaitsFor]():     {"type": []string{"string", "null"}, "enum": []any{flow.WaitsForApproval, flow.WaitsForChildren, flow.WaitsForPrediction, flow.WaitsForDelay, flow.WaitsForRetry, nil}},
	reflect.TypeFor[flow.DeliveryState](): {"type": "string", "enum": []flow.DeliveryState{flow.DeliveryPending, flow.DeliveryDelivered, flow.DeliveryFailed}},
}

// of returns the schema of a type, and adds the components it refers to.
func (s *schemas) of(t reflect.Type) schema {
	if leaf, ok := leaves[t]; ok {
		return maps.Clone(leaf)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case reflect.Slice:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return schema{"type": []string{"object", "null"}}
	case reflect.Struct:
		return s.named(t)
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	}
	return schema{}
}

// named returns a reference to the component of a type, or its schema if the type has no
// name in the document.
func (s *schemas) named(t reflect.Type) schema {
	name := cmp.Or(componentNames[t], s.names[t])
	if name == "" {
		return s.object(t)
	}
	if s.components[name] == nil {
		s.components[name] = schema{} // for types that refer to themselves
		s.components[name] = s.object(t)
	}
	return ref(name)
}

// object returns the schema of a struct. Fields without omitempty are required, so that
// generated clients need not expect them to be absent.
func (s *schemas) object(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		p := s.of(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		properties[name] = p
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

func ref(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }

// nullable returns a schema that also allows null.
func nullable(s schema) schema {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []string{t, "null"}
	case nil:
		if s["$ref"] != nil {
			return schema{"anyOf": []schema{s, {"type": "null"}}}
		}
	}
	return s
}

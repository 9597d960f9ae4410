package api

import (
	"encoding/json"
	"reflect"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/api/openapi"
)

// componentNames are the types with a component of their own; others are inlined.
var componentNames = map[reflect.Type]string{
	reflect.TypeFor[runObject]():            "Run",
	reflect.TypeFor[runList]():              "RunList",
	reflect.TypeFor[batchObject]():          "Batch",
	reflect.TypeFor[batchList]():            "BatchList",
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
	reflect.TypeFor[importLoss]():           "ImportLoss",
	reflect.TypeFor[takenAlias]():           "TakenAlias",
	reflect.TypeFor[contractChange]():       "ContractChange",
	reflect.TypeFor[versionList]():          "VersionList",
	reflect.TypeFor[publishedObject]():      "Published",
	reflect.TypeFor[appliedList]():          "Applied",
	reflect.TypeFor[importedList]():         "Imported",
	reflect.TypeFor[importedObject]():       "ImportedFlow",
	reflect.TypeFor[deliveryObject]():       "Delivery",
	reflect.TypeFor[deliveryList]():         "DeliveryList",
	reflect.TypeFor[webhookList]():          "WebhookList",
	reflect.TypeFor[webhookObject]():        "Webhook",
	reflect.TypeFor[secretObject]():         "PreviousSecret",
	reflect.TypeFor[KeySecret]():            "WebhookSecret",
	reflect.TypeFor[fileObject]():           "UploadedFile",
	reflect.TypeFor[approvalList]():         "ApprovalList",
	reflect.TypeFor[approvalObject]():       "Approval",
	reflect.TypeFor[approvalValue]():        "ApprovalValue",
	reflect.TypeFor[askedCall]():            "ApprovalCall",
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
var leaves = map[reflect.Type]openapi.Schema{
	reflect.TypeFor[*flow.Object]():       {"type": []string{"object", "null"}},
	reflect.TypeFor[stamp]():              {"type": "string", "format": "date-time"},
	reflect.TypeFor[stampOrNull]():        {"type": []string{"string", "null"}, "format": "date-time"},
	reflect.TypeFor[json.RawMessage]():    {},
	reflect.TypeFor[flow.RunState]():      {"type": "string", "enum": openapi.RunStates},
	reflect.TypeFor[json.Number]():        {"type": "number"},
	reflect.TypeFor[flow.StepState]():     {"type": "string", "enum": []flow.StepState{flow.StepPending, flow.StepRunning, flow.StepRetrying, flow.StepWaiting, flow.StepSucceeded, flow.StepReused, flow.StepSkipped, flow.StepFailed, flow.StepCanceled}},
	reflect.TypeFor[flow.Outcome]():       {"type": "string", "enum": outcomes},
	reflect.TypeFor[flow.Audience]():      {"type": "string", "enum": []flow.Audience{flow.AudienceLink, flow.AudienceMembers, flow.AudienceNamed}},
	reflect.TypeFor[flow.AnswererType]():  {"type": "string", "enum": []flow.AnswererType{flow.ByMember, flow.ByKey, flow.ByLink, ""}},
	reflect.TypeFor[approvalStatus]():     {"type": "string", "enum": append([]flow.Outcome{"open", "closed"}, outcomes...)},
	reflect.TypeFor[flow.Trigger]():       {"type": "string", "enum": []flow.Trigger{flow.TriggerAPI, flow.TriggerBuilder, flow.TriggerForm, flow.TriggerMCP, flow.TriggerCLI, flow.TriggerRerun, flow.TriggerFlow, flow.TriggerSchedule, flow.TriggerHook, flow.TriggerBatch, flow.TriggerTest, flow.TriggerIndex, flow.TriggerBackfill}},
	reflect.TypeFor[*flow.WaitsFor]():     {"type": []string{"string", "null"}, "enum": []any{flow.WaitsForApproval, flow.WaitsForChildren, flow.WaitsForPrediction, flow.WaitsForDelay, flow.WaitsForRetry, flow.WaitsForBudget, nil}},
	reflect.TypeFor[flow.DeliveryState](): {"type": "string", "enum": []flow.DeliveryState{flow.DeliveryPending, flow.DeliveryDelivered, flow.DeliveryFailed}},
}

// Types that the document names without a route that answers with them.
var (
	runType        = reflect.TypeFor[runObject]()
	problemType    = reflect.TypeFor[problem]()
	stepEventType  = reflect.TypeFor[stepEvent]()
	deltaEventType = reflect.TypeFor[deltaEvent]()

	progressEventType = reflect.TypeFor[progressEvent]()
	outputEventType   = reflect.TypeFor[contract.OutputEvent]()
)

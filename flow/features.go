package flow

// Feature names something that older programs do not understand, such as a node kind or
// a format of stored data. During an upgrade instances of two releases share a database.
// What one of them stores may be read by the other, so it is used only once all live
// instances understand it; see db.Instances.AllCan. A name never changes its meaning.
type Feature string

// FeatureURLEndpoints is that each URL is an endpoint of webhooks of its own.
const FeatureURLEndpoints Feature = "url-endpoints"

// FeatureTriggers is that triggers start runs.
const FeatureTriggers Feature = "triggers"

// FeatureRunBudgets is that runs and agents have limits in dollars.
const FeatureRunBudgets Feature = "run-budgets"

// FeatureContinue is that runs continue the conversations of earlier ones.
const FeatureContinue Feature = "continue"

// FeatureKnowledge is that there are knowledge bases.
const FeatureKnowledge Feature = "knowledge"

// FeatureTests is that runs belong to tests of flows, whose steps must not call services.
const FeatureTests Feature = "tests"

// FeatureTestSchedules is that schedules start tests, and alarms tell about them.
const FeatureTestSchedules Feature = "test-schedules"

// Features lists what this program understands. Each instance stores it with its
// heartbeat. Names have no spaces.
var Features = []Feature{FeatureURLEndpoints, FeatureTriggers, FeatureRunBudgets, FeatureContinue, FeatureKnowledge, FeatureTests, FeatureTestSchedules}

package docs

// synonyms maps words that people search for to the words of the pages. It
// holds terms of other products and of standards; a word that only has another
// ending needs no entry, because words are also found by their beginning.
var synonyms = map[string][]string{
	"pagination": {"next_cursor"}, "paging": {"next_cursor"}, "paginate": {"next_cursor"}, "offset": {"next_cursor"},
	"oidc": {"sso"}, "saml": {"sso"}, "okta": {"sso"}, "oauth": {"sso"}, "ldap": {"sso"}, "scim": {"sso"},
	"opentelemetry": {"tracing"}, "otel": {"tracing"}, "trace": {"tracing", "waterfall"}, "traces": {"tracing", "waterfall"}, "observability": {"tracing", "metrics"},
	"monitoring": {"metrics"}, "grafana": {"metrics", "prometheus"},
	"schedule": {"cron"}, "scheduler": {"cron"}, "scheduled": {"cron"}, "timer": {"cron"}, "interval": {"cron"},
	"library": {"sdk"}, "libraries": {"sdk"}, "package": {"sdk"},
	"workflow": {"flow"}, "workflows": {"flow"}, "pipeline": {"flow"}, "chain": {"flow"}, "zap": {"zapier"}, "scenario": {"make", "zapier"},
	"block": {"node"}, "step": {"step", "node"}, "handle": {"port"}, "pin": {"pin", "port"}, "wire": {"edge"}, "connection": {"edge"}, "execution": {"run"},
	"token": {"key", "token"}, "apikey": {"key"}, "bearer": {"key"}, "password": {"password", "credential"},
	"throttle": {"limit"}, "throttling": {"limit"}, "quota": {"limit", "quota"}, "429": {"limit"},
	"callback": {"webhook"}, "hook": {"webhook"}, "sse": {"streaming"}, "websocket": {"streaming"},
	"if": {"condition"}, "else": {"condition"}, "branch": {"condition"}, "switch": {"condition"}, "loop": {"loops"}, "foreach": {"loops"},
	"idempotent": {"idempotency"}, "dedupe": {"idempotency"}, "llm": {"model"}, "gpt": {"openai", "model"}, "chatgpt": {"openai", "assistant"},
	"ocr": {"scanned", "ocr"}, "upload": {"file"}, "attachment": {"file"}, "downtime": {"upgrade"}, "rollback": {"live", "back"},
}

// synonymWeight is how much a synonym counts in relation to the word itself.
const synonymWeight = 0.7

// scoreMeaning rates each place for a word or, at a lower weight, for one of
// its synonyms.
func (x *index) scoreMeaning(word string) map[*place]float64 {
	scores := x.score(word)
	for _, other := range synonyms[word] {
		if other == word {
			continue
		}
		for p, score := range x.score(other) {
			scores[p] = max(scores[p], synonymWeight*score)
		}
	}
	return scores
}

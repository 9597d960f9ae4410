package docs

import "strings"

// synonyms maps words that people search for to the words of the pages. It
// holds terms of other products and of standards; a word that only has another
// ending needs no entry, because words are also found by their beginning.
var synonyms = map[string][]string{
	"pagination": {"next_cursor"}, "paging": {"next_cursor"}, "paginate": {"next_cursor"}, "offset": {"next_cursor"},
	"oidc": {"sso"}, "saml": {"sso"}, "okta": {"sso"}, "oauth": {"sso", "credentials"}, "ldap": {"sso"}, "scim": {"sso"},
	"tracing": {"traces"}, "opentelemetry": {"traces"}, "otel": {"traces"}, "trace": {"traces", "waterfall"}, "traces": {"waterfall"}, "observability": {"traces", "metrics"},
	"monitoring": {"metrics"}, "grafana": {"metrics", "prometheus"},
	"schedule": {"cron"}, "scheduler": {"cron"}, "scheduled": {"cron"}, "timer": {"cron"}, "interval": {"cron"},
	"morning": {"cron"}, "night": {"cron"}, "nightly": {"cron"}, "daily": {"cron"}, "hourly": {"cron"}, "weekly": {"cron"}, "daylight": {"clocks"},
	"google": {"sso"}, "azure": {"azure", "sso"}, "spend": {"budget", "budgets"}, "spending": {"budget", "budgets"}, "price": {"cost"}, "pay": {"cost"}, "paying": {"cost", "test"},
	"delete": {"erase"}, "remove": {"erase"}, "retention": {"kept"}, "twice": {"once", "idempotency"}, "duplicate": {"once", "idempotency"}, "duplicates": {"once", "idempotency"},
	"thousands": {"batch", "batches"}, "csv": {"batches"}, "excel": {"batches"}, "spreadsheet": {"batches"}, "bulk": {"batches"}, "nginx": {"reverse", "proxy"}, "caddy": {"reverse", "proxy"}, "traefik": {"reverse", "proxy"}, "stored": {"directory"}, "saved": {"directory"},
	"servers": {"instances"}, "replicas": {"instances"}, "cluster": {"instances"}, "team": {"roles", "workspace"}, "teams": {"roles", "workspace"}, "largest": {"limits"}, "maximum": {"limits"},
	"crashes": {"crash"}, "email": {"mail"}, "emails": {"mail"}, "smtp": {"mail"}, "kubernetes": {"docker"}, "podman": {"docker"}, "receive": {"incoming"}, "human": {"approval", "approvals"},
	"python": {"snippets"}, "javascript": {"snippets", "browser"}, "typescript": {"snippets"}, "php": {"snippets"}, "ruby": {"snippets"}, "java": {"snippets"},
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

// stemWeight is how much a word with another ending counts in relation to the word itself.
const stemWeight = 0.9

// stem removes the common endings of an English word, if at least four letters are left: "schedules" and "scheduled" become "schedul",
// by which score also finds "schedule".
func stem(word string) string {
	for _, end := range []string{"ies", "ing", "es", "ed", "s", "e"} {
		if rest, ok := strings.CutSuffix(word, end); ok && len(rest) >= 4 {
			return rest
		}
	}
	return word
}

// scoreMeaning rates each place for a word or, at a lower weight, for its stem or one of its synonyms.
func (x *index) scoreMeaning(word string) map[*place]float64 {
	scores := x.score(word)
	if s := stem(word); s != word {
		for p, score := range x.score(s) {
			scores[p] = max(scores[p], stemWeight*score)
		}
	}
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

package e2e

// alarms provokes the responses of alarms and of the file that has them.
func (k *contract) alarms() {
	const alarm = "/v1/alarms/loud"
	plain := "Content-Type: text/plain"
	told := object{"kind": "failed", "flow": k.ids["flow_id"], "to": []object{{"webhook": "https://example.com/x"}}}
	k.ask("all", "GET", "/v1/alarms", nil)
	k.ask("all", "PUT", alarm, told)
	k.ask("all", "PUT", alarm, object{"kind": "never"})
	k.ask("all", "PUT", alarm, []byte("x"), plain)
	k.ask("all", "GET", alarm, nil)
	k.ask("all", "POST", alarm+"/test", nil)
	k.ask("all", "POST", alarm+"/test", nil) // too soon
	k.ask("all", "GET", alarm+"/messages", nil)
	k.ask("all", "GET", alarm+"/messages?limit=x", nil)
	k.ask("all", "GET", alarm+"/secret", nil)
	k.ask("all", "POST", alarm+"/rotate", nil)
	k.ask("all", "POST", alarm+"/rotate", object{"overlap_s": -1})
	k.ask("all", "POST", alarm+"/rotate", []byte("x"), plain)
	k.ask("all", "POST", alarm+"/pause", nil)
	k.ask("all", "POST", alarm+"/resume", nil)
	k.ask("all", "PUT", alarm, object{"kind": "failed", "flow": k.ids["flow_id"]})
	k.ask("all", "POST", alarm+"/test", nil) // without receivers
	for _, at := range []string{alarm, alarm + "/messages", alarm + "/secret", "/v1/alarms"} {
		k.ask("run", "GET", at, nil)
	}
	for _, act := range []string{"pause", "resume", "test", "rotate"} {
		k.ask("run", "POST", alarm+"/"+act, nil)
		k.ask("all", "POST", "/v1/alarms/none/"+act, nil)
	}
	k.ask("run", "PUT", alarm, told)
	k.ask("run", "DELETE", alarm, nil)
	for _, at := range []string{"", "/messages", "/secret"} {
		k.ask("all", "GET", "/v1/alarms/none"+at, nil)
	}
	k.ask("all", "PUT", "/v1/alarms/No_Name", told)
	k.ask("all", "DELETE", "/v1/alarms/none", nil)
	k.ask("all", "DELETE", alarm, nil)

	const file = "/v1/companions/alarms"
	tag := k.ask("all", "GET", file, nil).header.Get("ETag")
	content := object{"schema": "sluice.alarms/v1", "alarms": []object{{"name": "quiet", "kind": "silent", "over": "1h", "flow": k.ids["flow_id"]}}}
	k.ask("all", "PUT", file, content)
	k.ask("all", "PUT", file, content, "If-Match: \"rev-999\"")
	k.ask("all", "PUT", file, object{"schema": "sluice.alarms/v1", "alarms": []object{{"name": "quiet"}}}, "If-Match: "+tag)
	k.ask("all", "PUT", file, []byte("x"), plain, "If-Match: "+tag)
	k.ask("all", "PUT", file, object{"schema": "sluice.alarms/v1", "alarms": []object{}}, "If-Match: "+tag)
	k.ask("all", "GET", file+"?revision=x", nil)
	k.ask("all", "GET", file+"/history", nil)
	k.ask("all", "GET", "/v1/companions/none", nil)
	k.ask("all", "GET", "/v1/companions/none/history", nil)
	k.ask("all", "PUT", "/v1/companions/none", content, "If-Match: "+tag)
	for _, at := range []string{file, file + "/history"} {
		k.ask("run", "GET", at, nil)
	}
	k.ask("run", "PUT", file, content, "If-Match: "+tag)
}

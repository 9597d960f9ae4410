package reports

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"sluice/flow/cases"
)

// The elements of the JUnit XML format, as GitHub, GitLab and Jenkins read it. The format has no schema of its own; these elements and
// attributes are the ones that all readers know.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Time       string          `xml:"time,attr"` // seconds
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string       `xml:"name,attr"`
		ClassName string       `xml:"classname,attr"`
		Time      string       `xml:"time,attr"`
		Failure   *junitReason `xml:"failure"`
		Error     *junitReason `xml:"error"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit returns a suite for each candidate. A case that fails is a failure. One that is stale, errored or not finished is an error: it says
// nothing about the flow. The baseline is left out, because it is not what is tested.
func (r *Report) junit() []byte {
	all := junitSuites{Name: r.Flow}
	for k := range r.Report.Candidates {
		if r.isBaseline(k) {
			continue
		}
		c := &r.Report.Candidates[k]
		s := junitSuite{Name: r.Flow + ": " + c.Label, Timestamp: r.Plan.CreatedAt.UTC().Format("2006-01-02T15:04:05"), Properties: []junitProperty{
			{"test", r.Plan.ID}, {"mode", string(r.Plan.Spec.Mode)}, {"cases", r.Plan.Spec.Set}, {"document", c.Hash},
		}}
		total := int64(0)
		for i := range r.Report.Cases {
			row := &r.Report.Cases[i]
			v := &row.Results[k]
			one := junitCase{Name: row.ID, ClassName: r.Flow, Time: seconds(v.MS)}
			total += v.MS
			reason := &junitReason{Message: v.Message, Type: string(v.State), Text: strings.Join(reasons(v), "\n")}
			switch v.State {
			case cases.Passed:
			case cases.Failed:
				one.Failure, s.Failures = reason, s.Failures+1
			default:
				one.Error, s.Errors = reason, s.Errors+1
			}
			if v.Runs > 1 && v.State != cases.Passed {
				reason.Message = fmt.Sprintf("%d of %d runs pass. %s", v.Passes, v.Runs, reason.Message)
			}
			if reason.Message == "" {
				reason.Message = stateTitles[v.State]
			}
			s.Cases = append(s.Cases, one)
		}
		s.Tests, s.Time = len(s.Cases), seconds(total)
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		panic("reports: encode a report: " + err.Error()) // all of it can be encoded
	}
	return append([]byte(xml.Header), append(data, '\n')...)
}

// seconds returns milliseconds as a text in seconds.
func seconds(ms int64) string {
	return fmt.Sprintf("%.3f", (time.Duration(ms) * time.Millisecond).Seconds())
}

// stateTitles are the states of cases as people read them.
var stateTitles = map[cases.State]string{
	cases.Passed: "Passed", cases.Failed: "Failed", cases.Errored: "Errored", cases.Stale: "Stale", cases.Pending: "Not finished",
}

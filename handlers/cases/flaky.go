package cases

import (
	"slices"

	"sluice/flow"
	"sluice/flow/cases"
)

// flakyReports is how many of the last reports tell which cases are flaky.
const flakyReports = 10

// flaky returns the cases of a file that neither always passed nor always failed with the same document in the last reports, by the hash of
// the document. Runs of a case before it was changed do not count. set is the hash of the file, or "" if it is not known.
func (c *call) flaky(f *flow.Flow, file *cases.File, set string, hashes []string) (map[string]map[string]cases.Rate, error) {
	tests, err := c.s.Store.ListTests(c.Ctx(), f.WorkspaceID, f.ID, "", latestTests)
	if err != nil {
		return nil, err
	}
	columns, reports := map[string][]cases.Column{}, 0
	for i := 0; i < len(tests) && reports < flakyReports; i++ {
		counts := false
		for k := range tests[i].Spec.Candidates {
			if hash := tests[i].Spec.Candidates[k].Hash; tests[i].RunID != "" && slices.Contains(hashes, hash) {
				columns[hash], counts = append(columns[hash], cases.Column{Test: &tests[i], Candidate: k}), true
			}
		}
		if counts {
			reports++
		}
	}
	rates, versions := map[string]map[string]cases.Rate{}, map[string]*cases.File{}
	if set != "" {
		versions[set] = file
	}
	for hash, list := range columns {
		counts, err := c.s.Store.CountFlaky(c.Ctx(), list)
		if err != nil {
			return nil, err
		}
		rates[hash] = map[string]cases.Rate{}
		for i, k := range list {
			if len(counts[i]) == 0 {
				continue
			}
			then := versions[k.Test.Spec.Set]
			if then == nil {
				if then, err = c.s.Store.FindCaseSet(c.Ctx(), f.WorkspaceID, k.Test.Spec.Set); err != nil {
					return nil, err
				}
				versions[k.Test.Spec.Set] = then
			}
			for id, n := range counts[i] {
				was, is := then.Find(id), file.Find(id)
				if is != nil && was != nil && (was == is || was.Same(is)) {
					r := rates[hash][id]
					rates[hash][id] = cases.Rate{Passed: r.Passed + n.Passed, Runs: r.Runs + n.Runs}
				}
			}
		}
	}
	return rates, nil
}

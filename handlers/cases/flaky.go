package cases

import (
	"slices"

	"sluice/flow"
	"sluice/flow/cases"
)

// flakyReports is how many of the last reports tell which cases are flaky.
const flakyReports = 10

// flaky returns the cases of a file that neither always passed nor always failed with the same document in the last reports, by the hash of
// the document. Runs of a case before it was changed do not count.
func (c *call) flaky(f *flow.Flow, file *cases.File, hashes []string) (map[string]map[string]cases.Rate, error) {
	tests, err := c.s.Store.ListTests(c.Ctx(), f.WorkspaceID, f.ID, "", latestTests)
	if err != nil {
		return nil, err
	}
	rates, own := map[string]map[string]cases.Rate{}, flow.Hash(file.Encode())
	for i, reports := 0, 0; i < len(tests) && reports < flakyReports; i++ {
		t := &tests[i]
		var then *cases.File
		same := map[string]bool{} // cases that were not changed since
		for k := range t.Spec.Candidates {
			hash := t.Spec.Candidates[k].Hash
			if t.RunID == "" || !slices.Contains(hashes, hash) {
				continue
			}
			if then == nil {
				reports++
				if then = file; t.Spec.Set != own {
					if then, err = c.s.Store.FindCaseSet(c.Ctx(), t.WorkspaceID, t.Spec.Set); err != nil {
						return nil, err
					}
				}
				for k := range file.Cases {
					is := &file.Cases[k]
					was := then.Find(is.ID)
					same[is.ID] = was == is || was != nil && was.Same(is)
				}
			}
			counts, err := c.s.Store.CountVerdicts(c.Ctx(), t, k)
			if err != nil {
				return nil, err
			}
			for id, n := range counts {
				if !same[id] {
					continue
				}
				if rates[hash] == nil {
					rates[hash] = map[string]cases.Rate{}
				}
				r := rates[hash][id]
				rates[hash][id] = cases.Rate{Passed: r.Passed + n.Passed, Runs: r.Runs + n.Runs}
			}
		}
	}
	return rates, nil
}

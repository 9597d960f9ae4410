// Package core is what all stores of package db share: the open database, its
// transactions and everything that one transaction has to settle for all of its
// members. That is admitting runs to workers, limits, quotas and budgets,
// counters, and the jobs that are handed over after the commit. It also holds
// the statements that each run makes, which are written in sets, and the
// encryption of secrets. It decides nothing about what a run does next and
// knows neither HTTP nor the workers of the queue.
package core

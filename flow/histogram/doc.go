// Package histogram counts durations in buckets of growing width, so that
// quantiles over millions of runs take a few integers. Quantiles are within 9 %.
package histogram

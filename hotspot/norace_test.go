//go:build !race

package hotspot_test

// many is how many distinct values the tests of the table's bounds send through it.
const many = 1_000_000

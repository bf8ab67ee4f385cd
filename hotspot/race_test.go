//go:build race

package hotspot_test

// many is fewer under the race detector, which makes each call some twenty times dearer.
const many = 50_000

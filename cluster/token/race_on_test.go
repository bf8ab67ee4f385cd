//go:build race

package token_test

// racing says whether the race detector is on, which allocates and makes each call some twenty times dearer.
const racing = true

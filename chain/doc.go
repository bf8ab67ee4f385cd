// Package chain is what rule kinds and the engine share: the call being decided, the checks that decide it,
// the errors that refuse it, and the words rules have in common.
//
// A call runs the checks of its resource in order. A check may reserve something (a place in a window, a
// permit, a place in a queue), which it reports with [Context.Hold]. When every check has passed, the
// reservations are committed; when one refuses, or the caller gives up waiting, they are undone, latest first.
package chain

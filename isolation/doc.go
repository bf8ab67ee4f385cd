// Package isolation holds the rules that limit how many calls of a resource are in flight; a call of n takes n permits.
package isolation

// Package flow holds the rules that limit how many calls of a resource pass, per time or at once, and how calls at the
// threshold are treated: refused, spaced out, or admitted at a rate that rises.
package flow

// Package replay checks the engine against recorded decisions.
//
// A scenario is a JSON file: rules, a clock, a list of steps, and what was decided at each step. Verify plays it on an
// engine of its own under a virtual clock and compares every decision, wait, breaker event and figure. A scenario
// passes if everything is as recorded. Where this project decides otherwise on purpose, a list of divergences gives
// what it decides instead, step by step; it is checked as strictly as the recording, and an entry of the list that no
// longer differs from the recording fails too.
//
// Steps are counted from 0, as rules are. Figures are compared with a tolerance of 1e-9.
package replay

// Package benchmarks measures what a guarded call costs, beside the libraries that a team would otherwise take, and
// compares the figures with the project's budgets.
//
//	make bench                        the whole table; writes RESULTS.md, fails where a budget is missed by more than 15 %
//	make bench ROUNDS=1 SHORT=1       one quick round
//	make gate-instructions            instructions per call against instructions.json
//
// Package guard is the shape of a row, packages rows and peers have the rows, package measure times one of them in its process,
// package figure has what is no time per call: memory, loading rules, an idle engine; package tokens has the token server
// and the token client beside the least that can do their work. Command bench runs them all in
// shuffled rounds, each in a process of its own. The tests of this package hold the limits on memory and allocations.
package benchmarks

// Package tokens compares the token server and the token client with the least that can do their work: a server that
// answers every frame and decides nothing, and a load that keeps its requests in flight and does nothing else.
//
// The servers are processes of their own: this program, started again, which main and tests must let happen by calling
// Child first. What is compared runs by turns, in slices of some milliseconds, and the figure is the ratio of a good
// slice of each, as others on the machine can only make them worse, or of the medians.
package tokens

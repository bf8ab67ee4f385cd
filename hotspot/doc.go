// Package hotspot holds the rules that limit calls separately for each value of one of their arguments.
package hotspot

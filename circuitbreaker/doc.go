// Package circuitbreaker holds the rules that stop calls of a resource that is too slow or fails too often, until a
// probe shows that it has recovered.
package circuitbreaker

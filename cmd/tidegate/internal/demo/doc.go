// Package demo shows the gateway at work: an upstream with fast, slow and failing routes, the gateway before it with a
// rule file, and a load generator, all over real sockets of the loopback interface. The figures are the engine's own.
package demo

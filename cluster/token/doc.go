// Package token decides the rules in cluster mode: it is what a token server does with a request, usable in process.
//
// A [Service] holds the flow and parameter rules of any number of namespaces and answers requests for their tokens.
// By default it counts exactly: a window of W seconds admits count x W units and not one more, however many callers
// come at once. With [WithCompatible] it decides as Sentinel's token server does, per-second averages and all.
//
// Every decision takes the time as an argument, so that a server reads its clock once for many requests. It is always
// the server's time ([Service.Now]), never a client's.
package token

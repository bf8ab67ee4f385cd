// Package cluster gives a process its place in a cluster of token clients and token servers, and changes it while
// it runs.
//
// A [Member] belongs to an engine. Documents tell it its role: none, token client of a server elsewhere, or token
// server embedded in this process. The [Group] list of a cluster map says which machine is what; the member finds
// itself there by its identity. Rules in cluster mode ask whatever the role provides: the client's connection, the
// embedded server in process, or nobody, and then the policy of each rule decides.
//
// Roles change in the background. The role in force goes on until the next one is ready, and what fails is shown by
// [Member.Status] and tried again. Losing the document changes nothing; an empty map or mode -1 leaves the cluster.
//
// The parts: package wire is the protocol, token the decision, server and client the two ends of a connection. They
// can be used without this package.
package cluster

// Package document reads rule documents: Sentinel's arrays, each of one kind, and the single document that holds the
// rules of all kinds with the master switch.
//
// [Parse] and [ParseArray] only read: they need no engine, and tell of every rule what is wrong with it and where.
// [Loader] puts documents into force on an engine and is the handler that data sources feed. A bad document changes
// nothing; in a good one a bad rule is left out, reported, and takes none of the others with it.
//
// The member "cluster" of the single document goes to whom [WithCluster] names. Losing it changes nothing there.
//
// Arrays and sections in the dialect of sentinel-golang (threshold, triggerCount, retryTimeoutMs) are recognized and
// read as such; a rule that mixes it with Sentinel's members is refused.
package document

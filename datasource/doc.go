// Package datasource brings rule documents from where they are kept to the engine and keeps them up to date.
//
// A [Source] watches one document, a [Handler] puts its text into force. What every source does, whatever it reads from:
//
//   - Start does the first read; [Optional] starts without a document, [Require] fails.
//   - Text that the handler refuses, empty text and failed reads change nothing: the last good text stays in force,
//     and [State] says why.
//   - Deletion is not the same as empty text. What it does is a policy: [KeepOnDelete] leaves the rules in force and
//     marks the state as deleted, [ClearOnDelete] tells the handler to take them back. "[]" always means no rules.
//   - The same text again is a no-op; good text after bad text is applied at once.
//   - Handler calls come one at a time, and after Close none comes any more.
//
// [File] is the source for files. [Feed] is the part that sources share, for those who write one of their own; package
// sourcetest holds the conformance suite that every source passes.
package datasource

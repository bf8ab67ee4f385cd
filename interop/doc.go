// Package interop has no code of its own: its tests run Tidegate's token server and token client against the real
// token client and token server of Sentinel for Java, version 1.8.9.
//
// The Java side is the small program in the folder java, built by Maven and driven by lines on its standard input.
// The tests that need it are skipped, with the reason, where Java 17 or Maven is missing.
package interop

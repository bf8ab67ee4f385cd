// Package server is the TCP end of a token server: it reads requests of package wire, has a token.Service decide them,
// and answers. One server may listen at several addresses; token clients may be Go or Java.
//
// # One port
//
// A port serves plaintext and TLS: the first byte of a connection tells. With WithTLS plaintext is refused, unless
// WithPlaintext allows it; a certificate of the client is asked for as the tls.Config says. With WithSecret a connection
// must prove that it knows the secret before anything is decided for it; both sides prove it, and neither sends it.
//
// # One connection
//
// A connection is one goroutine. It holds no buffer while it waits, so that ten thousand idle ones are cheap. Whatever
// has arrived is read at once, decided at one reading of the clock, in order, and answered by one write. A peer that
// does not read its answers is not read from: nothing piles up, and after WithWriteTimeout it is disconnected.
//
// # Odd input
//
// A frame whose message cannot be decoded is answered with BAD_REQUEST if its header can be read, else with FAIL; one of
// an unknown type with FAIL; one above 1024 bytes is skipped and answered with BAD_REQUEST. The connection stays in sync
// and is closed after WithMaxMalformed such frames.
//
// # The end of a connection
//
// The system probes silent peers, so that one that vanished without a word is noticed within 30 seconds. A peer that
// was silent for WithIdle is disconnected if it has pinged more than once, which Java's clients do not do: they may be
// silent for as long as they like. A connection that never sent a whole frame is closed after 30 seconds, or the idle
// time if that is shorter. Its member leaves all its namespaces when a connection ends.
//
// # Too much
//
// Connections are limited in all and per address; of those that have not sent a frame yet, and of TLS handshakes under
// way, the oldest goes when there are too many. When requests wait for a processor for longer than WithShedding,
// part of the requests that are not prioritized, and in the end all, are answered with TOO_MANY_REQUEST, so that
// clients decide by themselves and ask less often.
package server

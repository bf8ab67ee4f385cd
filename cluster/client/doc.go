// Package client is the token client: it asks a token server, Sentinel's or ours, for the tokens of rules in cluster
// mode. A [Client] implements [chain.TokenService].
//
// # Requests
//
// All requests go over one connection, without waiting for each other, and are matched with their answers by id.
// Frames that are ready at the same time leave in one write, and all answers of a read are taken at once. A request
// waits for its answer as long as the timeout (20 ms by default) or its context says, whichever ends first, and fails
// at once when the connection is lost. A request that cannot make sense (no flow id, no units, nothing that can be
// sent of its values) is a chain.TokenBadRequest without being sent.
//
// # When no server answers
//
// Without a connection, requests fail at once: see the errors. After a few timeouts in a row (3 by default) the client
// is in state [StateLocal]: requests fail at once with ErrLocal until a ping, sent every second in the background, is
// answered within the timeout. The first ping is sent at once, so that a hiccup ends at once, unless the last silence
// ended less than ten seconds ago. If pings stay unanswered for three seconds, a second connection is tried beside the silent
// one, and whichever answers first is used. Lost connections are made again for as long as it takes, after a random time
// up to a bound that doubles from 100 ms to 3 s (full jitter). So a server that came back is used within five seconds.
//
// A server that refuses requests because their namespace had its share (chain.TokenTooManyRequest) is left alone for a
// short random time, at first at most 10 ms and, while it goes on refusing, twice as much each time up to 200 ms.
// Meanwhile the client gives the same answer itself. See WithoutBackOff.
//
// # Change of server
//
// SetServer makes the new connection ready before requests go to it; the old one takes its last answers and is closed
// when there are none left to come. If the first attempt to reach the new server fails, the old one is left all the
// same: two servers that both count would admit twice the limit.
//
// # Coalescing
//
// See WithCoalescing: requests of one flow that are made at the same time become one.
package client

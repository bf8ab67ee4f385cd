// Package outlier takes bad addresses out of a group: of several instances of one service, those that
// fail or are slow get no calls until they have recovered.
//
// Each address has a circuit breaker of its own, by one rule. While the breaker is not closed, the address
// is ejected, but never more than a share of all addresses at a time (Config.MaxEjectionPercent): those
// whose breaker opened first stay ejected, the others go on getting calls, since a bad address
// is better than none. There are two ways back:
//   - the breaker's: after the rule's recovery time a call is let through as a probe, and decides;
//   - with Config.ActiveRecovery, a check of the address, by default a TCP connection, made in the
//     background at growing intervals. The first that succeeds brings the address back.
//
// Use Group.Pick to let the group choose an address, or Group.Available, Group.HalfOpen and Group.Start
// beside a load balancer of your own.
package outlier

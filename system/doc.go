// Package system holds the rules that limit all inbound calls of the process together, by rate, concurrency, response
// time, load and CPU usage.
package system

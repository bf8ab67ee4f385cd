// Package gateway holds the rules of gateways: limits for routes and for groups of paths, all requests together or
// separately for each client, host, header, URL parameter or cookie.
package gateway

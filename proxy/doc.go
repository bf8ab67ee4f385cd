// Package proxy is a reverse proxy under rules, for anything that speaks HTTP. It is what the command
// "tidegate gateway" runs.
//
// [Load] reads a configuration file and names everything wrong in it by line and member; [New] makes a server of it,
// which listens from [Server.Start] to [Server.Stop]. The least file is
//
//	listen: 127.0.0.1:8080
//	upstreams: [{name: shop, urls: [http://127.0.0.1:9000]}]
//	routes: [{pattern: /orders/{id}, upstream: shop}]
//	rules: [rules.json]
//
// A request's resource is its route's id, or METHOD:/pattern where the route has none. Rule files are reloaded when
// they change. The instances of an upstream take turns; one that cannot be reached gets no requests until it can be.
package proxy

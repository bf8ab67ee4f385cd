package interop_test

import (
	"fmt"
	"strings"
)

// flowRule is a rule for all clients together.
func flowRule(resource string, id int64, count float64) string {
	return fmt.Sprintf(`{"resource":%q,"grade":1,"limitApp":"default","count":%v,"clusterMode":true,`+
		`"clusterConfig":{"flowId":%d,"thresholdType":1}}`, resource, count, id)
}

// clientRule is a rule for each client.
func clientRule(id int64, count float64) string {
	return fmt.Sprintf(`{"resource":"r","grade":1,"count":%v,"clusterMode":true,"clusterConfig":{"flowId":%d,"thresholdType":0}}`, count, id)
}

// paramRule is a rule of the first argument, for all clients together.
func paramRule(resource string, id int64, count float64) string {
	return fmt.Sprintf(`{"resource":%q,"grade":1,"paramIdx":0,"count":%v,"durationInSec":1,"clusterMode":true,`+
		`"clusterConfig":{"flowId":%d,"thresholdType":1}}`, resource, count, id)
}

// list makes an array of rules.
func list(rules ...string) []byte { return []byte("[" + strings.Join(rules, ",") + "]") }

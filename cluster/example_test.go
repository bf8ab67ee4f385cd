package cluster_test

import (
	"context"
	"fmt"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

// A machine takes its role from the document that has its rules. Here it is the token server of its application, named in the
// cluster map by its identity; the rule admits two calls a minute for all machines together.
func Example() {
	engine, err := tidegate.New(tidegate.WithAppName("shop"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close() }()
	member := cluster.New(engine, cluster.WithIdentity("shop-0"))
	defer func() { _ = member.Close() }()

	loader := document.NewLoader(engine, "rules.json", document.WithCluster(member))
	err = loader.Update(context.Background(), []byte(`{
		"flowRules": [{"resource": "order", "count": 0.034, "clusterMode": true,
			"clusterConfig": {"flowId": 101, "thresholdType": 1, "windowIntervalMs": 60000, "fallbackPolicy": "block"}}],
		"cluster": {"map": [{"machineId": "shop-0", "ip": "127.0.0.1", "port": 18731, "clientSet": ["shop-1", "shop-2"]}]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(member.Status().Mode)
	// Output:
	// server
}

func ExamplePlaceOf() {
	groups, _, err := cluster.ParseMap([]byte(`[{"machineId": "10.0.0.1@8719", "ip": "10.0.0.1", "port": 18730, "clientSet": ["10.0.0.2@8719"]}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, identity := range []string{"10.0.0.1@8719", "10.0.0.2@8719", "10.0.0.3@8719"} {
		fmt.Println(identity, cluster.PlaceOf(groups, identity).Mode)
	}
	// Output:
	// 10.0.0.1@8719 server
	// 10.0.0.2@8719 client
	// 10.0.0.3@8719 none
}

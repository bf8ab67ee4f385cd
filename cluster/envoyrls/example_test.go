package envoyrls_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

func Example() {
	folder, err := os.MkdirTemp("", "rules")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	rules := filepath.Join(folder, "shop.yaml")
	if err := os.WriteFile(rules, []byte(`
domain: shop
descriptors:
  - key: remote_address
    rate_limit: {unit: day, requests_per_unit: 2}
`), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	service := envoyrls.New()
	defer func() { _ = service.Close() }()
	if err := service.Load(context.Background(), rules); err != nil {
		fmt.Println(err)
		return
	}
	// NewServer(service).Listen(ctx, "127.0.0.1:8081") would serve it to Envoy; here we ask it ourselves.
	for range 3 {
		answer, err := service.ShouldRateLimit(context.Background(), &rls.RateLimitRequest{
			Domain: "shop",
			Descriptors: []*common.RateLimitDescriptor{{
				Entries: []*common.RateLimitDescriptor_Entry{{Key: "remote_address", Value: "192.0.2.7"}},
			}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.OverallCode, answer.Statuses[0].LimitRemaining)
	}
	// Output:
	// OK 1
	// OK 0
	// OVER_LIMIT 0
}

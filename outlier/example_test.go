package outlier_test

import (
	"errors"
	"fmt"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/outlier"
)

// A client with three addresses stops calling the one that fails.
func Example() {
	group, err := outlier.New(outlier.Config{
		Rule: circuitbreaker.Rule{
			Resource: "shop", Grade: circuitbreaker.ErrorRatio, Count: 0.5, MinRequestAmount: 3,
			TimeWindow: 30, StatIntervalMs: 10_000,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	group.Set([]string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"})

	for range 12 {
		call, err := group.Pick()
		if err != nil {
			fmt.Println(err)
			return
		}
		if call.Address() == "10.0.0.2:80" {
			call.Done(errors.New("connection refused"))
		} else {
			call.Done(nil)
		}
	}
	fmt.Println("available:", group.Available())
	fmt.Println("ejected:", group.Ejected())
	// Output:
	// available: [10.0.0.1:80 10.0.0.3:80]
	// ejected: [10.0.0.2:80]
}

// A load balancer of one's own asks for an address and hears whether it may be used.
func ExampleGroup_Start() {
	group, err := outlier.New(outlier.Config{
		Rule: circuitbreaker.Rule{Resource: "shop", Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: 30},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	group.Set([]string{"10.0.0.1:80", "10.0.0.2:80"})

	for range 2 {
		call, err := group.Start("10.0.0.2:80")
		if err != nil {
			fmt.Println(err)
			continue
		}
		call.Done(errors.New("connection refused"))
	}
	// Output:
	// shop: 10.0.0.2:80: ejected as an outlier
}

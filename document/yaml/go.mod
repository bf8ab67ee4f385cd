module github.com/tidegate-go/tidegate/document/yaml

go 1.26

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/tidegate-go/tidegate v0.0.0
	go.yaml.in/yaml/v3 v3.0.5
)

require golang.org/x/text v0.14.0 // indirect

replace github.com/tidegate-go/tidegate => ../..

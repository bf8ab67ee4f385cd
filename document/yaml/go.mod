module github.com/tidegate-go/tidegate/document/yaml

go 1.26

require (
	github.com/tidegate-go/tidegate v0.0.0
	go.yaml.in/yaml/v3 v3.0.5
)

replace github.com/tidegate-go/tidegate => ../..

module github.com/tidegate-go/tidegate/cmd/tidegate

go 1.26

require (
	github.com/tidegate-go/tidegate v0.0.0
	github.com/tidegate-go/tidegate/document/yaml v0.0.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace (
	github.com/tidegate-go/tidegate => ../..
	github.com/tidegate-go/tidegate/document/yaml => ../../document/yaml
)

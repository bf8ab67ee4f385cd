module github.com/tidegate-go/tidegate/cmd/tidegate

go 1.26.0

require (
	github.com/tidegate-go/tidegate v0.0.0
	github.com/tidegate-go/tidegate/codegen v0.0.0
	github.com/tidegate-go/tidegate/document/yaml v0.0.0
	github.com/tidegate-go/tidegate/proxy v0.0.0
	golang.org/x/term v0.47.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace (
	github.com/tidegate-go/tidegate => ../..
	github.com/tidegate-go/tidegate/codegen => ../../codegen
	github.com/tidegate-go/tidegate/document/yaml => ../../document/yaml
	github.com/tidegate-go/tidegate/proxy => ../../proxy
)

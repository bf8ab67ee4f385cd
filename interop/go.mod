module github.com/tidegate-go/tidegate/interop

go 1.26.0

require github.com/tidegate-go/tidegate v0.0.0

replace github.com/tidegate-go/tidegate => ..

module example.com/shop

go 1.26.0

require github.com/tidegate-go/tidegate v0.0.0

replace github.com/tidegate-go/tidegate => ../../..

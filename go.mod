module github.com/tidegate-go/tidegate

go 1.26

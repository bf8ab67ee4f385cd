package codegen

// guardTemplate writes a guarded type. Its code uses no package-level names but the type's own and those of the two
// packages, so that methods are free to call their parameters as they like.
const guardTemplate = `
{{- $type := print .Struct .Used -}}
{{- if .Embedded}}
// {{.Embedded}} passes on the methods that only another package can implement.
type {{.Embedded}}{{.Declared}} interface{ {{.Next}} }
{{end}}
// {{.Struct}} is a {{.Interface}} whose calls are guarded. Make it with {{.New}}.
type {{.Struct}}{{.Declared}} struct {
{{- if .Embedded}}
	{{.Embedded}}{{.Used}}
{{- else}}
	{{.NextField}} {{.Next}}
{{- end}}
	{{.NameField}} func(ctx {{.Context}}.Context, method string, args []{{.Root}}.Arg) string
	{{.GuardField}} {{.Root}}.Guard[struct{}]
}
{{if .Assert}}
var _ {{.Next}} = (*{{.Struct}})(nil)
{{end}}
// {{.New}} returns next guarded by the engine's rules; a nil engine is the default one. resource names the
// resource of each call; nil, or where it returns "", it is {{.Interface}}.METHOD. A guard may be given for the calls'
// direction, handlers, and errors to ignore; of several the last counts.
func {{.New}}{{.Declared}}(
	next {{.Next}}, engine *{{.Root}}.Engine,
	resource func(ctx {{.Context}}.Context, method string, args []{{.Root}}.Arg) string,
	guard ...{{.Root}}.Guard[struct{}],
) *{{$type}} {
	var last {{.Root}}.Guard[struct{}]
	if len(guard) > 0 {
		last = guard[len(guard)-1]
	}
	if engine != nil {
		last.Engine = engine
	}
	return &{{$type}}{ {{- .NextField}}: next, {{.NameField}}: resource, {{.GuardField}}: last}
}

// {{.Do}} makes one call of a method; name is its resource unless the caller of {{.New}} names another.
func (g *{{$type}}) {{.Do}}(ctx {{.Context}}.Context, name string, args []{{.Root}}.Arg, call func({{.Context}}.Context) error) error {
	if g.{{.NameField}} != nil {
		if given := g.{{.NameField}}(ctx, name[len("{{.Interface}}."):], args); given != "" {
			name = given
		}
	}
	guard := g.{{.GuardField}}
	guard.Call.Args = args
	_, err := guard.Do(ctx, name, func(ctx {{.Context}}.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}
{{range .Methods}}
// {{.Name}} makes a guarded call of the implementation's method.
{{- if not .Err}} A refused call returns without it.{{end}}
func ({{.Receiver}} *{{$type}}) {{.Name}}({{.Params}}) {{.Results}} {
	{{if .Err}}{{.Err}}{{else}}_{{end}} = {{.Receiver}}.{{$.Do}}({{.Ctx}}, "{{$.Interface}}.{{.Name}}", {{.Args}}, func({{.Inner}}) error {
		{{if .Assigned}}{{.Assigned}} = {{end}}{{.Receiver}}.{{$.NextField}}.{{.Name}}({{.Pass}})
		return {{if .Err}}{{.Err}}{{else}}nil{{end}}
	})
	{{- if .Assigned}}
	return {{.Assigned}}
	{{- end}}
}
{{end}}`

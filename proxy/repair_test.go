package proxy

import "testing"

func TestQuotePatterns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"r: [{pattern: /o/{id}, u: s}]":                "r: [{pattern: '/o/{id}', u: s}]",
		"r: [{pattern: /o/{id}}]":                      "r: [{pattern: '/o/{id}'}]",
		"{pattern: GET /o/{id}/x/{r...},\n a: /{$} }":  "{pattern: 'GET /o/{id}/x/{r...}',\n a: '/{$}' }",
		"{p: h.example/{x}, q: '/y/{z}', r: \"/{a}\"}": "{p: 'h.example/{x}', q: '/y/{z}', r: \"/{a}\"}",
		"p: /o/{id}\nq: [/a/{b}, /c]":                  "p: /o/{id}\nq: ['/a/{b}', /c]",
		"- /o/{id} # {x: /y/{z}}\n- {x: /y/{z}}":       "- /o/{id} # {x: /y/{z}}\n- {x: '/y/{z}'}",
		"{urls: [http://h:1], n: {a: b}}":              "{urls: [http://h:1], n: {a: b}}",
		"{a: it's, p: /o/{id}}":                        "{a: it's, p: '/o/{id}'}",
		"{a: \"x\\\"{\", b: 'it''s {', p: /{i}":        "{a: \"x\\\"{\", b: 'it''s {', p: '/{i}'",
		"":                                             "", "'": "'", "{": "{", "a:": "a:",
	} {
		if got := quotePatterns(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("listen: 127.0.0.1:8080\nupstreams: [{name: shop, urls: [http://127.0.0.1:9000]}]\nroutes: [{pattern: /orders/{id}, upstream: shop}]\n")
	f.Add("a: &a [*a]\nb: {<<: *a, c: !!int x}\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("", []byte(text))
		if (c == nil) == (err == nil) {
			t.Errorf("configuration %v, error %v", c, err)
		}
	})
}

package rulejson_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate/internal/rulejson"
)

func TestLastOfEqualMembersCounts(t *testing.T) {
	t.Parallel()
	o := rulejson.Parse([]byte(`{"a":1,"b":true,"a":2,"x":0,"x":0}`))
	var a int64
	o.Int64("a", &a)
	if a != 2 || o.Err() != nil {
		t.Errorf("a is %d (%v), want 2", a, o.Err())
	}
	if got := o.Warnings(); !slices.Equal(got, []string{`unknown member "b" is ignored`, `unknown member "x" is ignored`}) {
		t.Errorf("warnings %q", got)
	}
}

func TestFirstErrorStays(t *testing.T) {
	t.Parallel()
	o := rulejson.Parse([]byte(`{"a":"x","b":"y"}`))
	a, b := int64(7), 1.5
	o.Int64("a", &a)
	o.Float("b", &b)
	if got := o.Err(); got == nil || got.Error() != "a: must be a whole number, not a string" {
		t.Errorf("error %v", got)
	}
	if a != 7 || b != 1.5 {
		t.Errorf("wrong members changed their targets to %v, %v", a, b)
	}
}

func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "5.0": 5, "1e3": 1000, "1.5e1": 15, "-7": -7,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		o := rulejson.Parse([]byte(`{"n":` + text + `}`))
		got := int64(-1)
		if o.Int64("n", &got); got != want || o.Err() != nil {
			t.Errorf("%s reads as %d (%v), want %d", text, got, o.Err(), want)
		}
	}
	for _, text := range []string{"1.5", "1e-1", "9223372036854775808", "1e19", "1e99999", "1e-99999", `"1"`, "true", "{}", "[]"} {
		o := rulejson.Parse([]byte(`{"n":` + text + `}`))
		var got int64
		if o.Int64("n", &got); o.Err() == nil {
			t.Errorf("%s reads as %d, want an error", text, got)
		}
	}
}

func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	o := rulejson.Parse([]byte(`{"a":null}`))
	var optional *int64
	var flag *bool
	text := "kept"
	o.OptionalInt64("a", &optional)
	o.OptionalBool("a", &flag)
	o.String("a", &text)
	o.Set("a", 0, 5)
	if optional != nil || flag != nil || text != "kept" || o.Array("a") != nil || o.Err() != nil || len(o.Warnings()) != 0 {
		t.Errorf("null is not as absent: %v %v %q %v", optional, flag, text, o.Err())
	}
}

func TestNotAnObject(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "  ", "null", "5", "[]", `{"a":1`, `{"a":1} x`, "{]"} {
		if rulejson.Parse([]byte(text)).Err() == nil {
			t.Errorf("%q is taken for an object", text)
		}
	}
}

func TestBlankAppIsDefault(t *testing.T) {
	t.Parallel()
	if !rulejson.SameApp("", "default") || !rulejson.SameApp(" \t", "") || rulejson.SameApp("a", "b") {
		t.Error("blank limitApp is default, others are themselves")
	}
}

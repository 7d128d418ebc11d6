package controllers

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eachField visits the properties below a schema, those of a list's entries
// without an index, as the reference writes them.
func eachField(schema apiextensionsv1.JSONSchemaProps, prefix string, visit func(path string, s apiextensionsv1.JSONSchemaProps, required bool)) {
	for name, property := range schema.Properties {
		visit(prefix+name, property, slices.Contains(schema.Required, name))
		if property.Items != nil {
			property = *property.Items.Schema
		}
		eachField(property, prefix+name+".", visit)
	}
}

// Every rule of the schema has an object that it refuses, in TestInvalidObjects.
func TestEveryRuleIsSeenToRefuse(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, k kind) {
		t.Helper()
		cases := k.invalid(t)
		check := func(path string, s apiextensionsv1.JSONSchemaProps) {
			for _, rule := range s.XValidations {
				require.True(t, slices.ContainsFunc(cases, func(c invalid) bool {
					return strings.Contains(rule.Message, c.want)
				}), "%s: nothing is refused with %q", path, rule.Message)
			}
		}
		whole := k.schema(t)
		check("the object", whole)
		schema := whole.Properties["spec"]
		check("spec", schema)
		eachField(schema, "", func(path string, s apiextensionsv1.JSONSchemaProps, _ bool) {
			check(path, s)
			if s.Items != nil {
				check(path, *s.Items.Schema)
			}
			if s.AdditionalProperties != nil {
				check(path, *s.AdditionalProperties.Schema)
			}
		})
	})
}

// An unbounded field would let one object fill the API server, and makes every
// rule about it cost as if it did.
func TestEveryFieldOfSpecIsBounded(t *testing.T) {
	t.Parallel()
	forEachKind(t, everyFieldIsBounded)
}

func everyFieldIsBounded(t *testing.T, k kind) {
	t.Helper()
	eachField(k.specSchema(t), "", func(path string, s apiextensionsv1.JSONSchemaProps, _ bool) {
		switch s.Type {
		case "string":
			require.True(t, s.MaxLength != nil || s.Enum != nil || s.Format == "date-time", path)
		case "integer":
			require.True(t, s.Minimum != nil && s.Maximum != nil, path)
		case "array":
			require.NotNil(t, s.MaxItems, path)
			require.True(t, s.Items.Schema.Type == "object" || s.Items.Schema.MaxLength != nil, path)
		}
		if s.AdditionalProperties != nil {
			require.NotNil(t, s.MaxProperties, path)
		}
		require.Nil(t, s.Default, "%s: what is unset stays unset in the stored object", path)
	})
}

// row is a line of the reference's table of spec.
type row struct{ bounds, unset string }

func (k kind) specRows(t *testing.T) map[string]row {
	t.Helper()
	_, section, found := strings.Cut(reference(t), "\n## "+k.spec+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n##")
	rows := map[string]row{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) == 7 && strings.HasPrefix(cells[1], " `") {
			rows[strings.Trim(cells[1], " `")] = row{bounds: cells[2] + cells[3], unset: strings.TrimSpace(cells[4])}
		}
	}
	return rows
}

// bounds are the least and greatest value, length or count that the schema allows.
func bounds(s apiextensionsv1.JSONSchemaProps) (low, high int64, bounded bool) {
	for _, b := range []struct{ low, high *int64 }{
		{s.MinLength, s.MaxLength},
		{s.MinItems, s.MaxItems},
		{s.MinProperties, s.MaxProperties},
		{whole(s.Minimum), whole(s.Maximum)},
	} {
		if b.high == nil {
			continue
		}
		if b.low == nil {
			b.low = new(int64(0))
		}
		return *b.low, *b.high, true
	}
	return 0, 0, false
}

func whole(f *float64) *int64 {
	if f == nil {
		return nil
	}
	return new(int64(*f))
}

// A bound is written as "1 to 63", "`minReplicas` to 100" where another field is the
// least, or "20 entries" where there may be none.
var boundsInWords = regexp.MustCompile("(?:(\\d+)|`\\w+`) to (\\d+)|(\\d+) entries")

// The page is right: it has the bounds of the schema, every value of an enum, and
// says of which fields that they are required.
func TestTheReferenceHasEveryBound(t *testing.T) {
	t.Parallel()
	forEachKind(t, boundsAreSaid)
}

func boundsAreSaid(t *testing.T, k kind) {
	t.Helper()
	rows := k.specRows(t)
	eachField(k.specSchema(t), "", func(path string, s apiextensionsv1.JSONSchemaProps, required bool) {
		line := rows[path]
		for _, value := range s.Enum {
			require.Contains(t, line.bounds, strings.Trim(string(value.Raw), `"`), path)
		}
		require.Equal(t, required, strings.HasPrefix(line.unset, "required") && line.unset == "required", path)
		low, high, bounded := bounds(s)
		if !bounded || s.Enum != nil || path == "table" { // Both parts of a table's name have a bound of their own.
			return
		}
		words := boundsInWords.FindStringSubmatch(line.bounds)
		require.NotNil(t, words, "%s: %d to %d is not said", path, low, high)
		require.Equal(t, strconv.FormatInt(high, 10), words[2]+words[3], path)
		if words[1] != "" || words[3] != "" {
			require.Equal(t, low, number(words[1]), path)
		}
	})
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// What is one beyond a bound is refused by the bound, in a sample that has the field.
func TestOneBeyondEveryBoundIsRefused(t *testing.T) {
	t.Parallel()
	forEachKind(t, boundsRefuse)
}

func boundsRefuse(t *testing.T, k kind) {
	t.Helper()
	w := newWorld(t)
	samples := k.sampleObjects(t, w.namespace)
	eachField(k.specSchema(t), "", func(path string, s apiextensionsv1.JSONSchemaProps, _ bool) {
		low, high, bounded := bounds(s)
		if !bounded || s.Enum != nil {
			return
		}
		sample := samples[slices.IndexFunc(samples, func(o *unstructured.Unstructured) bool { return at(o.Object["spec"], path) != nil })]
		tooMuch, tooLittle := beyond(t, s, at(sample.Object["spec"], path), low, high)
		for value, text := range map[*any]string{tooMuch: strconv.FormatInt(high, 10), tooLittle: strconv.FormatInt(low, 10)} {
			if value == nil {
				continue
			}
			object := sample.DeepCopy()
			put(object.Object["spec"], path, *value)
			err := admin.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			require.Error(t, err, "%s: %.80v", path, *value)
			require.Regexp(t, `spec\.`+pathPattern(path)+`\W.*\b`+text+`\b`, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	})
}

// beyond returns values that are one more and one less than allowed; nil where
// nothing can be less.
func beyond(t *testing.T, s apiextensionsv1.JSONSchemaProps, like any, low, high int64) (more, less *any) {
	t.Helper()
	of := func(value any) *any { return &value }
	switch {
	case s.Type == "integer":
		return of(high + 1), of(low - 1)
	case s.Type == "string":
		if low > 0 {
			less = of("")
		}
		return of(strings.Repeat("a", int(high)+1)), less
	case s.Type == "array":
		if low > 0 {
			less = of([]any{})
		}
		return of(entries(s, like.([]any)[0], int(high)+1)), less
	case s.AdditionalProperties != nil:
		all := map[string]any{}
		for i := range high + 1 {
			all[fmt.Sprintf("example.com/%d", i)] = "1"
		}
		return of(all), nil
	}
	t.Fatalf("a bound of type %q", s.Type)
	return nil, nil
}

// entries are many that differ, if they have to and can.
func entries(s apiextensionsv1.JSONSchemaProps, like any, n int) []any {
	all := make([]any, n)
	for i := range all {
		object, isObject := like.(map[string]any)
		switch {
		case !isObject:
			all[i] = fmt.Sprintf("host:%d", i+1)
		case s.XListType != nil && *s.XListType == "atomic":
			all[i] = like
		default:
			object = maps.Clone(object)
			object["name"] = strconv.Itoa(i)
			all[i] = object
		}
	}
	return all
}

func pathPattern(path string) string {
	return strings.ReplaceAll(path, ".", `(\[\d+\])?\.`) + `(\[\d+\])?`
}

// at is the value at a path of the reference: the first entry stands for a list. It
// is nil where there is none.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := value.([]any); ok {
			value = list[0]
		}
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[name]
	}
	return value
}

func put(value any, path string, replacement any) {
	parent, name := value, path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = at(value, path[:i]), path[i+1:]
	}
	if list, ok := parent.([]any); ok {
		parent = list[0]
	}
	parent.(map[string]any)[name] = replacement
}

package relay

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/report"
)

// The rooms do not know each other, so that their words agree is held here.
func TestEveryCodeOfStoreAndPublisherIsOneOfTheReport(t *testing.T) {
	for _, file := range []string{"outbox/problem.go", "publish/problem.go"} {
		codes := constants(t, file)
		require.NotEmpty(t, codes, file)
		for name, value := range codes {
			if name == value { // A code is named like its value; other constants are not.
				require.Contains(t, report.Codes(), report.Code(value), file)
			}
		}
	}
}

func TestAnErrorOfASubjectIsExplained(t *testing.T) {
	require.Equal(t, finding{code: report.TopicMissing},
		findingOf(Broker, &publish.Problem{Code: publish.TopicMissing, Err: errors.New("no topic")}))
	require.Equal(t, finding{code: report.BrokerFailed}, findingOf(Broker, errors.New("anything else")))
	require.Equal(t, finding{code: report.ColumnsMissing, slots: []string{"claim_token"}},
		findingOf(Database, &outbox.Problem{Code: outbox.ColumnsMissing, Slots: []string{"claim_token"}, Err: errors.New("columns")}))
	require.Equal(t, finding{code: report.DatabaseFailed}, findingOf(Database, errors.New("anything else")))
}

// constants are the string constants of a file, by name.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING && i < len(spec.Names) {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				found[spec.Names[i].Name] = text
			}
		}
		return true
	})
	return found
}

package addons_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"
)

// story is one status and what the tools make of it.
type story struct {
	Name    string
	Deleted bool
	Spec    map[string]any
	Status  struct {
		ObservedGeneration int64
		Conditions         map[string]string
	}
	KStatus status.Status
	ArgoCD  string
	Message string
}

const generation = 2

func (s story) object() *unstructured.Unstructured {
	metadata := map[string]any{"name": "orders", "namespace": "shop", "generation": int64(generation)}
	if s.Deleted {
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	}
	state := map[string]any{"observedGeneration": s.Status.ObservedGeneration}
	for _, kind := range slices.Sorted(maps.Keys(s.Status.Conditions)) {
		value, message, _ := strings.Cut(s.Status.Conditions[kind], " ")
		list, _ := state["conditions"].([]any)
		state["conditions"] = append(list, map[string]any{"type": kind, "status": value, "reason": "Any", "message": message})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "outbox.relayfleet.io/v1alpha1", "kind": "OutboxRelay",
		"metadata": metadata, "spec": s.Spec, "status": state,
	}}
}

func stories(t *testing.T) []story {
	t.Helper()
	data, err := os.ReadFile("testdata/health.yaml")
	require.NoError(t, err)
	var list []story
	require.NoError(t, yaml.UnmarshalStrict(data, &list))
	require.NotEmpty(t, list)
	return list
}

func TestHealthOfEveryStatusOfALife(t *testing.T) {
	flux := newFlux(t)
	for _, s := range stories(t) {
		t.Run(s.Name, func(t *testing.T) {
			object := s.object()
			computed, err := status.Compute(object)
			require.NoError(t, err)
			require.Equal(t, s.KStatus, computed.Status, "kstatus")
			state, message := argoHealth(t, object)
			require.Equal(t, s.ArgoCD, state, "Argo CD")
			require.Equal(t, s.Message, message)
			if !s.Deleted { // Flux does not ask the expressions then.
				require.Equal(t, s.KStatus, flux.judge(t, object), "Flux")
			}
		})
	}
}

// kstatus is the judge of every combination that the operator may write: Ready is
// always there, Reconciling and Stalled never both, and no other condition counts.
func TestArgoAndFluxAgreeWithKstatusWhateverTheConditions(t *testing.T) {
	flux := newFlux(t)
	argo := map[status.Status]string{
		status.CurrentStatus: "Healthy", status.InProgressStatus: "Progressing",
		status.FailedStatus: "Degraded", status.TerminatingStatus: "Progressing",
	}
	tried := map[status.Status]int{}
	for combination := range combinations() {
		object := combination.object()
		computed, err := status.Compute(object)
		require.NoError(t, err)
		want := argo[computed.Status]
		if want == "Healthy" && combination.Spec["suspend"] == true {
			want = "Suspended"
		}
		state, _ := argoHealth(t, object)
		require.Equal(t, want, state, combination)
		if !combination.Deleted {
			require.Equal(t, computed.Status, flux.judge(t, object), combination)
		}
		tried[computed.Status]++
	}
	require.Len(t, tried, len(argo))
}

func combinations() func(func(story) bool) {
	return func(yield func(story) bool) {
		for _, observed := range []int64{-1, generation - 1, generation} {
			for _, ready := range []string{"True", "False", "Unknown"} {
				for _, abnormal := range []string{"", "Reconciling", "Stalled"} {
					for kind := range polarities {
						for _, value := range []string{"True", "False", "Unknown"} {
							for _, flags := range [][2]bool{{false, false}, {true, false}, {false, true}} {
								s := story{Deleted: flags[0], Spec: map[string]any{"suspend": flags[1]}}
								s.Status.ObservedGeneration = observed
								s.Status.Conditions = map[string]string{kind: value + " other", "Ready": ready + " ready"}
								if abnormal != "" {
									s.Status.Conditions[abnormal] = "True abnormal"
								}
								if !yield(s) {
									return
								}
							}
						}
					}
				}
			}
		}
	}
}

// Before the operator's first pass kstatus would take an object without conditions
// for current. Neither Argo CD nor Flux may.
func TestWithoutReadyNothingIsHealthy(t *testing.T) {
	var s story
	s.Status.ObservedGeneration = generation
	state, _ := argoHealth(t, s.object())
	require.Equal(t, "Progressing", state)
	require.Equal(t, status.InProgressStatus, newFlux(t).judge(t, s.object()))
	bare := s.object()
	delete(bare.Object, "status")
	state, _ = argoHealth(t, bare)
	require.Equal(t, "Progressing", state)
}

// polarities says for each condition beside Ready, Reconciling and Stalled which
// value is a complaint; none where no value is.
var polarities = map[string]string{
	"Available":           "False",
	"BacklogKnown":        "False",
	"BacklogOverLimit":    "True",
	"BacklogWithinTarget": "False",
	"BrokerReachable":     "False",
	"DatabaseReachable":   "False",
	"FailedEvents":        "True",
	"KeyOrderKept":        "False",
	"LeaseSafe":           "False",
	"NotificationsHeard":  "False",
	"ScalingActive":       "False",
	"ScalingLimited":      "",
	"SchemaValid":         "False",
}

func TestWhatIsNotWellIsInArgosMessage(t *testing.T) {
	for kind, bad := range polarities {
		for _, value := range []string{"True", "False", "Unknown"} {
			var s story
			s.Status.ObservedGeneration = generation
			s.Status.Conditions = map[string]string{"Ready": "True fine", kind: value + " so it is"}
			want := "fine"
			if value == bad {
				want = fmt.Sprintf("fine; %s=%s: so it is", kind, value)
			}
			state, message := argoHealth(t, s.object())
			require.Equal(t, "Healthy", state)
			require.Equal(t, want, message)
		}
	}
}

// A new kind of condition needs a polarity here, and health.lua must know it.
func TestEveryConditionHasAPolarity(t *testing.T) {
	const file = "../../api/v1alpha1/conditions.go"
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ofRelays := parsed.Decls[0].(*ast.GenDecl) // Those of an OutboxRelay come first.
	for _, spec := range ofRelays.Specs {
		kind, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		if slices.Contains([]string{"Ready", "Reconciling", "Stalled"}, kind) {
			continue
		}
		require.Contains(t, polarities, kind)
	}
}

// argoHealth runs the script with no more libraries than Argo CD gives it.
func argoHealth(t *testing.T, object *unstructured.Unstructured) (state, message string) {
	t.Helper()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		require.NoError(t, vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	data, err := object.MarshalJSON()
	require.NoError(t, err)
	var plain any
	require.NoError(t, json.Unmarshal(data, &plain))
	vm.SetGlobal("obj", luaValue(vm, plain))
	require.NoError(t, vm.DoFile("argocd/health.lua"))
	result, ok := vm.Get(-1).(*lua.LTable)
	require.True(t, ok)
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func luaValue(vm *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := vm.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(luaValue(vm, item))
		}
		return table
	case map[string]any:
		table := vm.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, luaValue(vm, item))
		}
		return table
	default:
		return lua.LNil
	}
}

// flux evaluates health check expressions in Flux's environment and order.
type flux struct{ inProgress, failed, current cel.Program }

func newFlux(t *testing.T) flux {
	t.Helper()
	data, err := os.ReadFile("flux/example.yaml")
	require.NoError(t, err)
	var example struct {
		Spec struct {
			HealthCheckExprs []struct{ APIVersion, Kind, InProgress, Failed, Current string }
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &example))
	require.Len(t, example.Spec.HealthCheckExprs, 1)
	e := example.Spec.HealthCheckExprs[0]
	require.Equal(t, "outbox.relayfleet.io/v1alpha1 OutboxRelay", e.APIVersion+" "+e.Kind)
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes())
	require.NoError(t, err)
	compile := func(expression string) cel.Program {
		parsed, issues := env.Parse(expression)
		require.NoError(t, issues.Err())
		program, err := env.Program(parsed)
		require.NoError(t, err)
		return program
	}
	return flux{inProgress: compile(e.InProgress), failed: compile(e.Failed), current: compile(e.Current)}
}

func (f flux) judge(t *testing.T, object *unstructured.Unstructured) status.Status {
	t.Helper()
	for _, e := range []struct {
		program cel.Program
		is      status.Status
	}{{f.inProgress, status.InProgressStatus}, {f.failed, status.FailedStatus}, {f.current, status.CurrentStatus}} {
		value, _, err := e.program.ContextEval(context.Background(), object.Object)
		require.NoError(t, err)
		if value.Value() == true {
			return e.is
		}
	}
	return status.InProgressStatus
}
